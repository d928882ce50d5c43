//! `google.rpc` details: the few messages of `google/rpc/status.proto` and `error_details.proto` that
//! are said here, by their fields' numbers.

use bytes::Bytes;
use prost::{Message, Name};
use prost_types::{Any, Duration};
use tidegate::{Decision, Policy, Span};
use tonic::Code;

/// `google.rpc.Status`.
#[derive(Clone, PartialEq, Message)]
struct RpcStatus {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(message, repeated, tag = "3")]
    details: Vec<Any>,
}

/// `google.rpc.RetryInfo`.
#[derive(Clone, PartialEq, Message)]
struct RetryInfo {
    #[prost(message, optional, tag = "1")]
    retry_delay: Option<Duration>,
}

impl Name for RetryInfo {
    const PACKAGE: &'static str = "google.rpc";
    const NAME: &'static str = "RetryInfo";

    fn type_url() -> String {
        "type.googleapis.com/google.rpc.RetryInfo".into()
    }
}

/// `google.rpc.QuotaFailure`.
#[derive(Clone, PartialEq, Message)]
struct QuotaFailure {
    #[prost(message, repeated, tag = "1")]
    violations: Vec<Violation>,
}

impl Name for QuotaFailure {
    const PACKAGE: &'static str = "google.rpc";
    const NAME: &'static str = "QuotaFailure";

    fn type_url() -> String {
        "type.googleapis.com/google.rpc.QuotaFailure".into()
    }
}

/// `google.rpc.QuotaFailure.Violation`.
#[derive(Clone, PartialEq, Message)]
struct Violation {
    #[prost(string, tag = "1")]
    subject: String,
    #[prost(string, tag = "2")]
    description: String,
    #[prost(string, tag = "5")]
    quota_id: String,
    #[prost(int64, tag = "7")]
    quota_value: i64,
}

/// What a denial says to a client's retry logic: how long to wait, unless waiting does not help, and
/// which limit it was.
pub(super) fn of(policy: &Policy, decision: &Decision, message: &str) -> Bytes {
    let mut details = Vec::with_capacity(2);
    if let Some(wait) = decision.retry_after {
        details.extend(Any::from_msg(&RetryInfo { retry_delay: Some(duration(wait)) }));
    }
    let limit = policy.limits().get(decision.limit_index).map_or("", |limit| limit.name().as_str());
    let violation = Violation {
        subject: format!("policy:{}", policy.name()),
        description: message.to_owned(),
        quota_id: limit.to_owned(),
        quota_value: i64::try_from(decision.limit.whole_units()).unwrap_or(i64::MAX),
    };
    details.extend(Any::from_msg(&QuotaFailure { violations: vec![violation] }));
    let code = Code::ResourceExhausted as i32;
    RpcStatus { code, message: message.to_owned(), details }.encode_to_vec().into()
}

/// The exact wait.
fn duration(wait: Span) -> Duration {
    let nanos = wait.as_nanos();
    Duration {
        seconds: i64::try_from(nanos / 1_000_000_000).unwrap_or(i64::MAX),
        nanos: i32::try_from(nanos % 1_000_000_000).unwrap_or(0),
    }
}
