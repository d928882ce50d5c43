//! `POST /v1/check`: questions and answers in JSON, one or up to 1000 at a time.

mod answer;
mod question;

use bytes::Bytes;
use hyper::StatusCode;

use crate::face::http::{Reply, typed};
use crate::face::{Mistake, Refused};
use crate::service::{CheckRequest, Joint, Reason, Service};
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
    let answer = service.decide_one(service.rules(), question.request()?).await;
    let answer = answer.map_err(|refusal| Refused::of(&refusal, |_| "policy".into()))?;
    Ok(answer::one(&answer))
}

async fn many(
    service: &Service,
    questions: &[Question<'_>],
    joint: Joint,
) -> Result<String, Refused> {
    let asked: Vec<CheckRequest<'_>> =
        questions.iter().map(Question::request).collect::<Result<_, Mistake>>()?;
    let field = |place: usize| format!("checks[{place}].policy");
    let answers = service.decide(service.rules(), &asked, joint).await;
    let answers = answers.map_err(|refusal| Refused::of(&refusal, field))?;
    Ok(answer::many(&answers))
}
