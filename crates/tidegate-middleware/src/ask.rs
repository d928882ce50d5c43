//! What is found about a request: whom to count it for, how much, and under which policy.

use std::fmt::{self, Display};
use std::net::IpAddr;
use std::sync::Arc;

use tidegate::{Cost, Policy};

use crate::ip::AddressKey;
use crate::keybuf::KeyBuf;

/// Why a request is not counted as asked: a sentence for whoever sent it.
///
/// One that is shared costs no allocation each time, which matters where a fallback follows.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use tidegate_middleware::Reason;
///
/// let shared: Arc<str> = "no such user".into();
/// assert_eq!(Reason::from(shared), Reason::from("no such user"));
/// ```
#[derive(Clone, Debug)]
pub struct Reason(Words);

#[derive(Clone, Debug)]
enum Words {
    Fixed(&'static str),
    Shared(Arc<str>),
}

impl Reason {
    /// The sentence.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Words::Fixed(text) => text,
            Words::Shared(text) => text,
        }
    }
}

impl PartialEq for Reason {
    fn eq(&self, other: &Reason) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Reason {}

impl From<&'static str> for Reason {
    fn from(text: &'static str) -> Reason {
        Reason(Words::Fixed(text))
    }
}

impl From<Arc<str>> for Reason {
    fn from(text: Arc<str>) -> Reason {
        Reason(Words::Shared(text))
    }
}

impl From<String> for Reason {
    fn from(text: String) -> Reason {
        Reason(Words::Shared(text.into()))
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What becomes of a request before any store is asked.
///
/// # Examples
///
/// ```
/// use tidegate_middleware::Ask;
///
/// assert!(matches!(Ask::limit(), Ask::Limit(terms) if terms.cost.is_none()));
/// ```
#[derive(Clone, Debug)]
pub enum Ask {
    /// It is counted, for the key that was written, on these terms.
    Limit(Terms),
    /// It passes uncounted.
    Skip,
    /// There is no key in it. It is refused with 400, unless there is a fallback.
    Missing(Reason),
    /// It is refused with 400, whatever the fallback.
    Reject(Reason),
}

impl Ask {
    /// Counted at the cost and under the policy of the middleware.
    #[must_use]
    pub fn limit() -> Ask {
        Ask::Limit(Terms::default())
    }

    /// Counted as another key says where there is none: what was written from `start` on makes place
    /// for it.
    #[inline]
    #[must_use]
    pub fn or(
        self,
        start: usize,
        key: &mut KeyBuf,
        fallback: impl FnOnce(&mut KeyBuf) -> Ask,
    ) -> Ask {
        match self {
            Ask::Missing(_) => {
                key.truncate(start);
                fallback(key)
            }
            ask => ask,
        }
    }

    /// Not counted where there is no key.
    #[inline]
    #[must_use]
    pub fn or_skip(self) -> Ask {
        match self {
            Ask::Missing(_) => Ask::Skip,
            ask => ask,
        }
    }

    /// Counted at the cost that a function finds, when no other was found before. A cost that cannot
    /// be found is no missing key: the request is refused, whatever the fallback.
    #[inline]
    #[must_use]
    pub fn at<C: IntoCost>(self, cost: impl FnOnce() -> C) -> Ask {
        match self {
            Ask::Limit(Terms { cost: None, policy }) => match cost().into_cost() {
                Ok(cost) => Ask::Limit(Terms { cost: Some(cost), policy }),
                Err(reason) => Ask::Reject(reason),
            },
            ask => ask,
        }
    }
}

/// On which terms a request is counted; what is absent is as the middleware has it.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    /// How much it costs.
    pub cost: Option<Cost>,
    /// Which limits decide.
    pub policy: Option<Arc<Policy>>,
}

impl Terms {
    /// Writes one part of a combined key, so that it cannot run into its neighbours, and takes up the
    /// terms that it comes with.
    ///
    /// # Errors
    ///
    /// What the part says in place of a key: it stands for the whole.
    #[inline]
    pub fn part(
        &mut self,
        key: &mut KeyBuf,
        extract: impl FnOnce(&mut KeyBuf) -> Ask,
    ) -> Result<(), Ask> {
        let start = key.len();
        match extract(key) {
            Ask::Limit(found) => {
                key.close_part(start);
                self.cost = found.cost.or(self.cost);
                self.policy = found.policy.or_else(|| self.policy.take());
                Ok(())
            }
            ask => Err(ask),
        }
    }
}

/// A key with terms of its own: what a function gives that decides more than the key.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use tidegate::{Amount, Limit, Policy};
/// use tidegate_middleware::Charge;
///
/// let gold = Arc::new(Policy::new("gold", [Limit::quota("burst", "100/s")?])?);
/// let charge = Charge::key("alice").cost(Amount::from_units(2)).under(gold);
/// # let _ = charge;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Charge {
    key: KeyBuf,
    ask: Ask,
}

impl Charge {
    /// Counted for this key.
    #[must_use]
    pub fn key(key: impl IntoKey) -> Charge {
        let mut written = KeyBuf::new();
        let ask = key.into_key(&mut written);
        Charge { key: written, ask }
    }

    /// Not counted.
    #[must_use]
    pub fn skip() -> Charge {
        Charge { key: KeyBuf::new(), ask: Ask::Skip }
    }

    /// Refused with 400 and this reason.
    #[must_use]
    pub fn reject(reason: impl Into<Reason>) -> Charge {
        Charge { key: KeyBuf::new(), ask: Ask::Reject(reason.into()) }
    }

    /// At this cost.
    #[must_use]
    pub fn cost(mut self, cost: Cost) -> Charge {
        if let Ask::Limit(terms) = &mut self.ask {
            terms.cost = Some(cost);
        }
        self
    }

    /// Under this policy, over the same store.
    #[must_use]
    pub fn under(mut self, policy: Arc<Policy>) -> Charge {
        if let Ask::Limit(terms) = &mut self.ask {
            terms.policy = Some(policy);
        }
        self
    }
}

/// What a function may give for a key.
///
/// None and an error mean that there is no key; the error's text is told to whoever asked.
///
/// # Examples
///
/// ```
/// use tidegate_middleware::{Ask, IntoKey, KeyBuf};
///
/// /// A user's number.
/// struct User(u64);
///
/// impl IntoKey for User {
///     fn into_key(self, key: &mut KeyBuf) -> Ask {
///         self.0.into_key(key)
///     }
/// }
///
/// let mut key = KeyBuf::new();
/// User(42).into_key(&mut key);
/// assert_eq!(key.as_bytes(), b"42");
/// ```
pub trait IntoKey {
    /// Writes the key behind what is there, and says what becomes of the request.
    fn into_key(self, key: &mut KeyBuf) -> Ask;
}

/// Writes bytes as a key; none are no key.
pub(crate) fn bytes_as_key(bytes: &[u8], key: &mut KeyBuf) -> Ask {
    if bytes.is_empty() {
        return Ask::Missing(Reason::from("the key is empty"));
    }
    key.push(bytes);
    Ask::limit()
}

macro_rules! keys_of_bytes {
    ($($bytes:ty),*) => {$(
        impl IntoKey for $bytes {
            fn into_key(self, key: &mut KeyBuf) -> Ask {
                let bytes: &[u8] = self.as_ref();
                bytes_as_key(bytes, key)
            }
        }
    )*};
}
keys_of_bytes!(&str, String, &[u8], Vec<u8>, bytes::Bytes);

impl IntoKey for Arc<str> {
    fn into_key(self, key: &mut KeyBuf) -> Ask {
        bytes_as_key(self.as_bytes(), key)
    }
}

macro_rules! keys_of_numbers {
    ($($number:ty),*) => {$(
        impl IntoKey for $number {
            fn into_key(self, key: &mut KeyBuf) -> Ask {
                key.write(&self);
                Ask::limit()
            }
        }
    )*};
}
keys_of_numbers!(u8, u16, u32, u64, u128, usize, i32, i64);

/// As [`PeerIp`](crate::PeerIp) counts an address: IPv6 by its /64.
impl IntoKey for IpAddr {
    fn into_key(self, key: &mut KeyBuf) -> Ask {
        AddressKey::default().write(self, key);
        Ask::limit()
    }
}

impl<K: IntoKey> IntoKey for Option<K> {
    fn into_key(self, key: &mut KeyBuf) -> Ask {
        match self {
            Some(found) => found.into_key(key),
            None => Ask::Missing(Reason::from("the request has no key")),
        }
    }
}

impl<K: IntoKey, E: Display> IntoKey for Result<K, E> {
    fn into_key(self, key: &mut KeyBuf) -> Ask {
        match self {
            Ok(found) => found.into_key(key),
            Err(error) => Ask::Missing(Reason::from(error.to_string())),
        }
    }
}

impl IntoKey for Charge {
    fn into_key(self, key: &mut KeyBuf) -> Ask {
        key.push(self.key.as_bytes());
        self.ask
    }
}

/// What a function may give for a cost: an amount, whole units, or either or an error.
///
/// # Examples
///
/// ```
/// use tidegate::Amount;
/// use tidegate_middleware::IntoCost;
///
/// assert_eq!(3_u64.into_cost(), Ok(Amount::from_units(3)));
/// assert!("2.5".parse::<Amount>().into_cost().is_ok());
/// ```
pub trait IntoCost {
    /// The cost.
    ///
    /// # Errors
    ///
    /// The reason why there is none, for whoever asked.
    fn into_cost(self) -> Result<Cost, Reason>;
}

impl IntoCost for Cost {
    fn into_cost(self) -> Result<Cost, Reason> {
        Ok(self)
    }
}

macro_rules! costs_of_numbers {
    ($($number:ty),*) => {$(
        impl IntoCost for $number {
            fn into_cost(self) -> Result<Cost, Reason> {
                let units = u64::from(self);
                match units <= Cost::MAX.whole_units() {
                    true => Ok(Cost::from_units(units)),
                    false => Err(Reason::from("the cost is above 1e12")),
                }
            }
        }
    )*};
}
costs_of_numbers!(u8, u16, u32, u64);

impl<C: IntoCost, E: Display> IntoCost for Result<C, E> {
    fn into_cost(self) -> Result<Cost, Reason> {
        match self {
            Ok(cost) => cost.into_cost(),
            Err(error) => Err(Reason::from(error.to_string())),
        }
    }
}
