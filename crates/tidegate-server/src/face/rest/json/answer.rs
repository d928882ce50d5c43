//! What an answer looks like. It is written by hand: amounts stay exact, and every text in it is a
//! name of ours, in which nothing needs escaping.

use std::fmt::Write;

use tidegate::{Amount, Decision, Outcome};

use crate::service::{Answer, Answers};

/// The answer to one question, with a newline.
pub(super) fn one(answer: &Answer<'_>) -> String {
    let mut json = String::with_capacity(256);
    write_answer(&mut json, answer);
    json.push('\n');
    json
}

/// The answer to several.
pub(super) fn many(answers: &Answers<'_>) -> String {
    let mut json = String::with_capacity(256 * (answers.len() + 1));
    json.push_str(r#"{"allowed":"#);
    json.push_str(boolean(answers.is_allowed()));
    json.push_str(r#","governing":"#);
    write_number(&mut json, answers.governing() as u64);
    json.push_str(r#","decisions":["#);
    for (place, answer) in answers.iter().enumerate() {
        if place > 0 {
            json.push(',');
        }
        write_answer(&mut json, &answer);
    }
    json.push_str("]}\n");
    json
}

fn write_answer(json: &mut String, answer: &Answer<'_>) {
    match answer.decision {
        Some(decision) => write_decision(json, answer, &decision),
        None => {
            json.push_str(r#"{"outcome":"allow","allowed":true,"policy":""#);
            json.push_str(answer.policy().name().as_str());
            json.push_str(
                r#"","limit_name":null,"limit":null,"remaining":null,"retry_after_ms":null,"reset_after_ms":null,"degraded":true}"#,
            );
        }
    }
}

fn write_decision(json: &mut String, answer: &Answer<'_>, decision: &Decision) {
    json.push_str(match decision.outcome {
        Outcome::Allow => r#"{"outcome":"allow","allowed":true,"policy":""#,
        Outcome::Deny => r#"{"outcome":"deny","allowed":false,"policy":""#,
        Outcome::Exceeds => r#"{"outcome":"exceeds","allowed":false,"policy":""#,
    });
    json.push_str(answer.policy().name().as_str());
    json.push_str(r#"","limit_name":""#);
    json.push_str(answer.limit_name());
    json.push_str(r#"","limit":"#);
    write_amount(json, decision.limit);
    json.push_str(r#","remaining":"#);
    write_amount(json, decision.remaining);
    json.push_str(r#","retry_after_ms":"#);
    match decision.retry_after {
        Some(wait) => write_number(json, wait.as_millis_ceil()),
        None => json.push_str("null"),
    }
    json.push_str(r#","reset_after_ms":"#);
    write_number(json, decision.reset_after.as_millis_ceil());
    json.push_str(r#","degraded":false}"#);
}

const fn boolean(is_true: bool) -> &'static str {
    if is_true { "true" } else { "false" }
}

/// An amount's decimal. Most are whole, and their digits are written without formatting machinery.
fn write_amount(json: &mut String, amount: Amount) {
    if amount == Amount::from_units(amount.whole_units()) {
        write_number(json, amount.whole_units());
    } else {
        // Writing to a String cannot fail.
        let _ = write!(json, "{amount}");
    }
}

fn write_number(json: &mut String, number: u64) {
    json.push_str(itoa::Buffer::new().format(number));
}
