//! Answers in HTTP.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use http::{Response, StatusCode};
use tidegate_middleware::{Field, Fields, Format, Refused, Text};

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
    fn has(&self, field: Field) -> bool {
        self.0.contains_key(name(field))
    }

    fn set(&mut self, field: Field, value: Bytes) {
        if let Ok(value) = HeaderValue::from_maybe_shared(value) {
            self.0.insert(name(field), value);
        }
    }

    fn add(&mut self, field: Field, value: Bytes) {
        if let Ok(value) = HeaderValue::from_maybe_shared(value) {
            self.0.append(name(field), value);
        }
    }
}

/// Made once, by the compiler.
const fn name(field: Field) -> HeaderName {
    HeaderName::from_static(field.name())
}
