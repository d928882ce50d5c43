//! By what others have found out about a request.

use std::fmt;
use std::marker::PhantomData;

use crate::ask::{Ask, IntoKey, Reason};
use crate::keybuf::KeyBuf;

/// By a value in the request's extensions: what a layer outside has put there, a user who is
/// logged in for instance. A request without one has no key.
///
/// # Examples
///
/// ```
/// use tidegate_middleware::Extension;
///
/// #[derive(Clone)]
/// struct User { id: u64 }
///
/// let by_user = Extension::by(|user: &User| user.id);
/// # let _ = by_user;
/// ```
pub struct Extension<T, F = fn(&T) -> T> {
    key: F,
    missing: Reason,
    of: PhantomData<fn(&T)>,
}

impl<T: IntoKey + Clone> Extension<T> {
    /// By the value itself.
    #[must_use]
    pub fn new() -> Extension<T> {
        Extension { key: T::clone, missing: missing::<T>(), of: PhantomData }
    }
}

impl<T: IntoKey + Clone> Default for Extension<T> {
    fn default() -> Extension<T> {
        Extension::new()
    }
}

impl<T, F, K> Extension<T, F>
where
    F: Fn(&T) -> K,
    K: IntoKey,
{
    /// By what a function makes of the value.
    #[must_use]
    pub fn by(key: F) -> Extension<T, F> {
        Extension { key, missing: missing::<T>(), of: PhantomData }
    }
}

impl<T, F, K> Extension<T, F>
where
    F: Fn(&T) -> K,
    K: IntoKey,
{
    /// Writes the key of the value that was found, if any.
    pub fn write(&self, found: Option<&T>, key: &mut KeyBuf) -> Ask {
        match found {
            Some(value) => (self.key)(value).into_key(key),
            None => Ask::Missing(self.missing.clone()),
        }
    }
}

/// That there is no such value, in words.
fn missing<T>() -> Reason {
    let name = std::any::type_name::<T>();
    let name = name.rsplit("::").next().unwrap_or(name);
    Reason::from(format!("the request has no {name}"))
}

impl<T, F> fmt::Debug for Extension<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Extension").finish_non_exhaustive()
    }
}
