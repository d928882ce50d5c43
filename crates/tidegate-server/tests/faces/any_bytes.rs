//! Bytes of any kind and number from a client are answered on a connection that stays.

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use crate::harness::{Http, bucket, start};

/// P87: several megabytes of requests, written whether or not answers are read, are answered in order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pipeline_of_megabytes_is_answered_in_order() {
    const KEYS: usize = 10_000;
    let server = start([bucket("default", "1/hour")]).await;
    let stream = TcpStream::connect(server.at.http).await.expect("a connection");
    let (answers, mut requests) = stream.into_split();
    let padding = "p".repeat(100);
    // Each key is asked for twice in a row.
    let one = |key| {
        let head = format!("POST /limit HTTP/1.1\r\nHost: t\r\nX-Padding: {padding}\r\n");
        format!("{head}X-Client-Key: {key}\r\n\r\n").repeat(2)
    };
    let all: String = (0..KEYS).map(one).collect();
    assert!(all.len() > 3_000_000);
    let writer = tokio::spawn(async move {
        requests.write_all(all.as_bytes()).await.expect("it is read to the end");
        requests
    });
    let (mut lines, mut statuses) = (BufReader::new(answers).lines(), Vec::new());
    while statuses.len() < 2 * KEYS {
        let line = lines.next_line().await.expect("text").expect("as many answers");
        if let Some(status) = line.split("HTTP/1.1 ").nth(1) {
            statuses.push(status[..3].to_owned());
        }
    }
    assert!(statuses.chunks(2).all(|pair| pair == ["200", "429"]));
    drop(writer.await.expect("all is written"));
}

/// P87: a key of bytes that are not UTF-8 is a key, and the connection stays.
#[tokio::test]
async fn key_that_is_not_text_is_a_key() {
    let server = start([bucket("default", "1/hour")]).await;
    let mut http: Http = server.http().await;
    for (key, expected) in
        [(b"\xff\xfe\x80", 200), (b"\xff\xfe\x81", 200), (b"\xff\xfe\x80", 429), (b"abc", 200)]
    {
        let request = [b"POST /limit HTTP/1.1\r\nHost: t\r\nX-Client-Key: ", &key[..], b"\r\n\r\n"];
        http.write(&request.concat()).await;
        assert_eq!(http.read(true).await.expect("an answer").status, expected, "{key:?}");
    }
}
