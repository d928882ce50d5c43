//! Policies: named sets of limits, and the table of them that a service looks them up in.

use std::collections::HashMap;
use std::sync::Arc;

use crate::limit::{Limit, LimitError};
use crate::name::{Name, NameError};

/// A named set of limits that must all allow a request.
///
/// The name is part of where state is kept: two policies never share a count.
///
/// # Examples
///
/// ```
/// use tidegate::{Amount, Limit, Policy, Span};
///
/// let policy = Policy::new(
///     "api",
///     [
///         Limit::quota("burst", "10/s burst 50")?,
///         Limit::fixed_window("daily", Amount::from_units(10_000), Span::from_secs(86_400))?,
///     ],
/// )?;
/// assert_eq!(policy.limits().len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    name: Name,
    limits: Box<[Limit]>,
}

impl Policy {
    /// The most limits in one policy.
    pub const MAX_LIMITS: usize = 16;

    /// A policy of this name and these limits, in the order that breaks ties.
    ///
    /// # Errors
    ///
    /// [`PolicyError`] when the name is none, there is no limit or more than
    /// [`Policy::MAX_LIMITS`], or two limits share a name.
    pub fn new(name: &str, limits: impl IntoIterator<Item = Limit>) -> Result<Policy, PolicyError> {
        let name = Name::new(name)?;
        let limits: Box<[Limit]> = limits.into_iter().collect();
        if limits.is_empty() || limits.len() > Policy::MAX_LIMITS {
            return Err(PolicyError::Count {
                policy: name,
                count: limits.len(),
            });
        }
        for (place, limit) in limits.iter().enumerate() {
            if limits[..place]
                .iter()
                .any(|earlier| earlier.name() == limit.name())
            {
                return Err(PolicyError::Duplicate {
                    policy: name,
                    limit: limit.name().clone(),
                });
            }
        }
        Ok(Policy { name, limits })
    }

    /// The policy's name.
    #[must_use]
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// Its limits, in order; at least one.
    #[must_use]
    pub fn limits(&self) -> &[Limit] {
        &self.limits
    }
}

/// Why limits make no policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// The name is not one.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A limit is not one.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// There are no limits, or too many.
    #[error("policy {policy} has {count} limits; it must have 1 to 16")]
    Count {
        /// The policy.
        policy: Name,
        /// How many limits were given.
        count: usize,
    },
    /// Two limits have one name.
    #[error("policy {policy} has two limits named {limit}; give each its own name")]
    Duplicate {
        /// The policy.
        policy: Name,
        /// The name given twice.
        limit: Name,
    },
}

/// An immutable set of policies, found by name.
///
/// # Examples
///
/// ```
/// use tidegate::{Limit, Policy, PolicyTable};
///
/// let table = PolicyTable::new([Policy::new("api", [Limit::quota("burst", "5/s")?])?]);
/// assert!(table.lookup("api").is_some());
/// assert!(table.lookup("web").is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct PolicyTable {
    policies: HashMap<String, Arc<Policy>>,
}

impl PolicyTable {
    /// A table of these policies; of two with one name the later stays.
    #[must_use]
    pub fn new(policies: impl IntoIterator<Item = Policy>) -> PolicyTable {
        let named = |policy: Policy| (policy.name().as_str().to_owned(), Arc::new(policy));
        PolicyTable {
            policies: policies.into_iter().map(named).collect(),
        }
    }

    /// The policy of this name, if there is one.
    #[must_use]
    pub fn lookup(&self, name: &str) -> Option<&Arc<Policy>> {
        self.policies.get(name)
    }

    /// Every policy, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Policy>> {
        self.policies.values()
    }
}
