//! Answers in actix-web's types.

use actix_web::HttpResponse;
use actix_web::body::BoxBody;
use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use bytes::Bytes;
use tidegate_middleware::{Field, FieldText, Fields, Format, Refused, Text};

/// Answers a request that does not get through.
pub(crate) fn refuse(refused: &Refused<'_>, format: Format) -> HttpResponse {
    let text = Text::of(refused, format);
    let status = StatusCode::from_u16(refused.status());
    let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = HttpResponse::with_body(status, BoxBody::new(Bytes::from(text.body)));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(text.kind));
    response
}

/// The headers of an answer.
pub(crate) struct Lines<'a>(pub(crate) &'a mut HeaderMap);

impl Fields for Lines<'_> {
    fn set(&mut self, field: Field, text: FieldText) {
        if let Ok(value) = HeaderValue::from_maybe_shared(text.into_bytes()) {
            self.0.insert(name(field), value);
        }
    }

    fn set_new(&mut self, field: Field, text: FieldText) -> bool {
        let is_new = !self.0.contains_key(name(field));
        if is_new {
            self.set(field, text);
        }
        is_new
    }

    fn add(&mut self, field: Field, text: FieldText) {
        if let Ok(value) = HeaderValue::from_maybe_shared(text.into_bytes()) {
            self.0.append(name(field), value);
        }
    }
}

const fn name(field: Field) -> HeaderName {
    HeaderName::from_static(field.name())
}
