//! Requests to a replica, and the use of its reply.

use std::io;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    sync::oneshot,
};

use super::*;

/// A replica that answers one request with this; the request comes out.
async fn replica(reply: String) -> (String, oneshot::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (sender, request) = oneshot::channel();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await?;
        let mut bytes = vec![0; 4096];
        let mut read = 0;
        while !bytes[..read].ends_with(b"{}") {
            read += stream.read(&mut bytes[read..]).await?;
        }
        let _ = sender.send(String::from_utf8_lossy(&bytes[..read]).into_owned());
        stream.write_all(reply.as_bytes()).await?;
        io::Result::Ok(())
    });
    (url, request)
}

async fn forwarded(reply: &str) -> (Result<Bytes, ForwardError>, String) {
    let (url, request) = replica(reply.to_owned()).await;
    let id = RequestId::given(b"r-7").unwrap();
    let answer = Peers::new(None).forward(&url, "/gpu/bind", Bytes::from_static(b"{}"), &id).await;
    (answer, request.await.unwrap())
}

#[tokio::test]
async fn a_bind_is_posted_with_the_mark_of_a_forwarded_one_and_its_reply_comes_back() {
    let (answer, request) = forwarded("HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\n{\"Error\":\"\"}").await;
    assert_eq!(answer.unwrap(), r#"{"Error":""}"#);
    let request = request.to_ascii_lowercase();
    assert!(request.starts_with("post /gpu/bind http/1.1\r\n"), "{request}");
    assert!(request.contains("\r\nplimsoll-forwarded: 1\r\n"), "{request}");
    assert!(request.contains("\r\nx-request-id: r-7\r\n"), "{request}");
}

#[tokio::test]
async fn a_reply_of_another_status_or_without_an_end_is_an_error() {
    let (answer, _) = forwarded("HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n").await;
    assert!(matches!(answer, Err(ForwardError::NoReply(why)) if why.contains("status 503")));
    let endless = "x".repeat(MAX_FORWARDED_REPLY + 1);
    let (answer, _) =
        forwarded(&format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{endless}", endless.len())).await;
    assert!(matches!(answer, Err(ForwardError::NoReply(why)) if why.contains("its reply cannot be read")));
    let longest = "x".repeat(MAX_FORWARDED_REPLY);
    let (answer, _) =
        forwarded(&format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{longest}", longest.len())).await;
    assert_eq!(answer.unwrap().len(), MAX_FORWARDED_REPLY);
}

#[tokio::test]
async fn nothing_is_sent_to_a_replica_that_is_gone_or_that_no_url_names() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let gone = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    for (peer, why) in [
        (gone.as_str(), "refused"),
        ("http://exa mple", "is no URL"),
        ("https://127.0.0.1:1", "no certificate for https"),
        ("ftp://127.0.0.1:1", "neither http nor https"),
    ] {
        let sent = Peers::new(None).forward(peer, "/bind", Bytes::new(), &RequestId::None).await;
        let Err(ForwardError::NotSent(error)) = sent else { panic!("{peer}: {sent:?}") };
        assert!(error.contains(why), "{peer}: {error}");
    }
}

#[test]
fn a_replica_with_tls_dials_nothing_in_the_clear() {
    assert_eq!(default_port(Some("http"), false), Ok(80));
    assert_eq!(default_port(Some("https"), true), Ok(443));
    for (scheme, has_tls, why) in [
        (Some("http"), true, "sends no bind in the clear"),
        (Some("https"), false, "no certificate"),
        (Some("ftp"), true, "neither http nor https"),
        (None, true, "neither http nor https"),
    ] {
        let refused = default_port(scheme, has_tls).unwrap_err();
        assert!(refused.contains(why), "{scheme:?} {has_tls}: {refused}");
    }
}
