//! gRPC messages that no client library would write: what is wrong with them is told, and counted.

use bytes::{Buf, BufMut};
use tidegate_server::proto::v1::{AllowRequest, AllowResponse, CheckRequest};
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::{Code, Status};

use crate::harness::{Running, bucket, start};

/// Sends bytes as they are, and throws away what comes back.
#[derive(Clone, Copy, Default)]
struct Raw;

impl Codec for Raw {
    type Encode = Vec<u8>;
    type Decode = ();
    type Encoder = Raw;
    type Decoder = Raw;

    fn encoder(&mut self) -> Raw {
        Raw
    }

    fn decoder(&mut self) -> Raw {
        Raw
    }
}

impl Encoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, bytes: Vec<u8>, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put_slice(&bytes);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = ();
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<()>, Status> {
        buffer.advance(buffer.remaining());
        Ok(Some(()))
    }
}

/// Sends these bytes as the one message of a call, and returns how the call ended.
async fn send(server: &Running, method: &str, message: &[u8]) -> Status {
    let mut grpc = tonic::client::Grpc::new(server.channel().await);
    grpc.ready().await.expect("ready");
    let path = format!("/ratelimiter.v1.RateLimiter/{method}").parse().expect("a path");
    let request = tonic::Request::new(message.to_vec());
    match method {
        "Stream" => {
            let inbound = futures_util::stream::iter([message.to_vec()]);
            match grpc.streaming(tonic::Request::new(inbound), path, Raw).await {
                Ok(answers) => answers.into_inner().message().await.expect_err("a refusal"),
                Err(status) => status,
            }
        }
        _ => grpc.unary(request, path, Raw).await.expect_err("a refusal"),
    }
}

/// How many requests were refused for this reason.
async fn refused(server: &Running, reason: &str) -> usize {
    let page = server.scrape(&[]).await.body;
    let series = format!("ratelimiter_bad_requests_total{{face=\"grpc\",reason=\"{reason}\"}} ");
    let count = page.lines().find_map(|line| line.strip_prefix(&series));
    count.expect("the series").parse().expect("a number")
}

/// Messages that are none, and what the refusal says. A field's first byte is its number times eight
/// and its wire type.
const UNREADABLE: &[(&[u8], &str)] = &[
    // A policy that is not UTF-8.
    (b"\x0a\x01a\x1a\x02\xff\xfe", "policy: the message cannot be read: invalid string value"),
    // A key as a varint, tokens as bytes.
    (b"\x08\x01", "key: the message cannot be read: invalid wire type"),
    (b"\x0a\x01a\x12\x01x", "tokens: the message cannot be read: invalid wire type"),
    // A key that is announced longer than the message.
    (b"\x0a\x7fa", "key: the message cannot be read: buffer underflow"),
    // Garbage.
    (b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "invalid varint"),
    (b"\x07", "invalid wire type"),
];

/// P31: what is wrong with a message is the client's mistake, by its field, on every call.
#[tokio::test]
async fn an_unreadable_message_is_an_invalid_argument_that_names_the_field() {
    let server = start([bucket("default", "1/hour")]).await;
    let mut sent = 0;
    for method in ["Allow", "Stream"] {
        for (message, reason) in UNREADABLE {
            let status = send(&server, method, message).await;
            assert_eq!(status.code(), Code::InvalidArgument, "{method} {message:?}: {status}");
            assert!(status.message().contains(reason), "{method} {message:?}: {status}");
            sent += 1;
            assert_eq!(refused(&server, "malformed").await, sent, "{method} {message:?}");
        }
    }
    let status = send(&server, "Check", b"\x0a\x05\x1a\x03\xff\xfe\xfd").await;
    assert_eq!(status.code(), Code::InvalidArgument);
    let place = "checks.policy: the message cannot be read: invalid string value";
    assert!(status.message().starts_with(place), "{status}");
    assert_eq!(refused(&server, "malformed").await, sent + 1);
    assert!(allowed(&server, "a").await, "nothing was charged");
}

async fn allowed(server: &Running, key: &str) -> bool {
    let request = AllowRequest { key: key.to_owned().into(), ..AllowRequest::default() };
    let answer: AllowResponse =
        server.grpc().await.allow(request).await.expect("an answer").into_inner();
    answer.allowed
}

/// P51: a message that is too large is the client's mistake too, and is not read.
#[tokio::test]
async fn a_message_that_is_too_large_is_an_invalid_argument() {
    let server = start([bucket("default", "1/hour")]).await;
    let huge = AllowRequest { key: vec![b'k'; 3 * 1024 * 1024].into(), ..AllowRequest::default() };
    let mut grpc = server.grpc().await;
    let inbound = futures_util::stream::iter([huge.clone()]);
    let refusals = [
        grpc.allow(huge.clone()).await.expect_err("too large"),
        grpc.check(CheckRequest { checks: vec![huge], mode: 0 }).await.expect_err("too large"),
        grpc.stream(inbound).await.expect("a stream").into_inner().message().await.expect_err(""),
    ];
    for status in refusals {
        assert_eq!(status.code(), Code::InvalidArgument, "{status}");
        assert_eq!(status.message(), "the message is larger than 2097152 bytes");
    }
    assert_eq!(refused(&server, "too_large").await, 3);
    assert!(allowed(&server, "a").await, "the service goes on");
}

/// P51: keys of any size beyond the bound are refused by name, one by one and in a batch.
#[tokio::test]
async fn long_keys_are_refused_by_name_however_many() {
    let server = start([bucket("default", "1/hour")]).await;
    let key =
        |length: usize| AllowRequest { key: vec![b'k'; length].into(), ..AllowRequest::default() };
    let mut grpc = server.grpc().await;
    for length in [1_025, 64 * 1024, 1024 * 1024] {
        let status = grpc.allow(key(length)).await.expect_err("too long");
        assert_eq!(status.code(), Code::InvalidArgument);
        let reason = format!("key: key is {length} bytes long");
        assert!(status.message().starts_with(&reason), "{status}");
    }
    for _ in 0..2_000 {
        let status = grpc.allow(key(8 * 1024)).await.expect_err("too long");
        assert_eq!(status.code(), Code::InvalidArgument);
    }
    assert_eq!(refused(&server, "key").await, 2_003);
    assert!(allowed(&server, "a").await, "the service goes on");
}
