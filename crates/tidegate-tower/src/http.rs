//! Answers in HTTP.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, Entry, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use http::{Response, StatusCode};
use tidegate_middleware::{Field, FieldText, Fields, Format, Refused, Text};

/// Answers a request that does not get through.
pub(crate) fn refuse(refused: &Refused<'_>, format: Format) -> Response<Bytes> {
    let text = Text::of(refused, format);
    let mut response = Response::new(Bytes::from(text.body));
    *response.status_mut() = status(refused);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(text.kind));
    response
}

fn status(refused: &Refused<'_>) -> StatusCode {
    StatusCode::from_u16(refused.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// The headers of an answer.
pub(crate) struct Lines<'a>(pub(crate) &'a mut HeaderMap);

impl Fields for Lines<'_> {
    fn set(&mut self, field: Field, text: FieldText) {
        self.0.insert(name(field), value(text));
    }

    fn set_new(&mut self, field: Field, text: FieldText) -> bool {
        match self.0.entry(name(field)) {
            Entry::Vacant(place) => {
                place.insert(value(text));
                true
            }
            Entry::Occupied(_) => false,
        }
    }

    fn add(&mut self, field: Field, text: FieldText) {
        self.0.append(name(field), value(text));
    }
}

/// The value of a header, which is not looked through once more: it is a fifth of what a header costs.
#[allow(unsafe_code, reason = "only so does the library believe that the value is valid")]
fn value(text: FieldText) -> HeaderValue {
    // SAFETY: a `FieldText` is visible ASCII and spaces: only `tidegate-middleware` makes any, of numbers
    // and of names, which `Name::new` has checked.
    unsafe { HeaderValue::from_maybe_shared_unchecked(text.into_bytes()) }
}

/// The name of a header, made by the compiler: to look through it anew for each answer would cost more
/// than to write the value.
fn name(field: Field) -> &'static HeaderName {
    const fn of(field: Field) -> HeaderName {
        HeaderName::from_static(field.name())
    }
    static POLICY: HeaderName = of(Field::Policy);
    static STATE: HeaderName = of(Field::State);
    static LEGACY_LIMIT: HeaderName = of(Field::LegacyLimit);
    static LEGACY_REMAINING: HeaderName = of(Field::LegacyRemaining);
    static LEGACY_RESET: HeaderName = of(Field::LegacyReset);
    static DEGRADED: HeaderName = of(Field::Degraded);
    match field {
        Field::Policy => &POLICY,
        Field::State => &STATE,
        Field::LegacyLimit => &LEGACY_LIMIT,
        Field::LegacyRemaining => &LEGACY_REMAINING,
        Field::LegacyReset => &LEGACY_RESET,
        Field::Degraded => &DEGRADED,
        Field::RetryAfter => &RETRY_AFTER,
    }
}
