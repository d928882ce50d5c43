//! `POST /v1/check`: questions and answers in JSON, one or up to 1000 at a time.

mod answer;
mod question;

use bytes::Bytes;
use hyper::StatusCode;

use super::Reply;
use super::status::{Refused, typed};
use crate::face::Mistake;
use crate::service::{CheckRequest, Joint, Reason, Refusal, Service};
use question::{Body, Question};

/// Reads the body, asks the service, and writes the answer.
pub(super) async fn decide(service: &Service, body: &Bytes) -> Result<Reply, Refused> {
    let text = std::str::from_utf8(body)
        .map_err(|_| Mistake::new(Reason::Malformed, "", "the body is not UTF-8"))?;
    let json = match Body::read(text)? {
        Body::One(question) => one(service, &question).await?,
        Body::Many { questions, joint } => many(service, &questions, joint).await?,
    };
    Ok(typed(StatusCode::OK, "application/json", json))
}

async fn one(service: &Service, question: &Question<'_>) -> Result<String, Refused> {
    let rules = service.rules();
    let asked = [question.request()?];
    let answers = service.decide(&rules, &asked, Joint::All).await.map_err(|refusal| {
        Refused::from_service(&refusal, |_| ("policy".into(), question.policy().into()))
    })?;
    // One question gets exactly one answer.
    let answer = answers.first().ok_or(Refused::Store)?;
    Ok(answer::one(&answer))
}

async fn many(
    service: &Service,
    questions: &[Question<'_>],
    joint: Joint,
) -> Result<String, Refused> {
    let rules = service.rules();
    let asked: Vec<CheckRequest<'_>> =
        questions.iter().map(Question::request).collect::<Result<_, Mistake>>()?;
    let unknown = |place: usize| {
        let name = questions.get(place).map_or("", Question::policy);
        (format!("checks[{place}].policy"), name.to_owned())
    };
    let refused = |refusal: Refusal| Refused::from_service(&refusal, unknown);
    let answers = service.decide(&rules, &asked, joint).await.map_err(refused)?;
    Ok(answer::many(&answers))
}
