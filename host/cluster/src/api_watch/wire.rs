//! The lists and watches of the API server: requests, the form of the answers, and failures.

use std::{fmt, future::Future, io, time::Duration};

use futures_util::{AsyncBufReadExt, Stream};
use kube::{
    Client, Error,
    api::{ListParams, WatchParams},
    core::Request,
};
use plimsoll_core::Pod;
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::resource::Resource;
use crate::{
    api::error_text,
    clock::{random_part, timeout},
};

/// Objects of a page. A page is all of the JSON that is held at once: 250 pods of 10 kB have 2.5 MB.
const PAGE_OBJECTS: u32 = 250;

/// Time limit for a page of a list, and for the start of a watch.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// Seconds after which the API server ends a watch, plus up to a quarter at random.
const WATCH_SECONDS: f64 = 240.0;

/// One page of a list; its objects stay text.
#[derive(Deserialize)]
pub(super) struct ListPage<'a> {
    #[serde(default)]
    pub(super) metadata: ListMetadata,
    #[serde(borrow, default)]
    pub(super) items: Option<Vec<&'a RawValue>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ListMetadata {
    pub(super) resource_version: String,
    /// The token of the next page; empty after the last one.
    #[serde(rename = "continue")]
    pub(super) next: String,
}

/// One line of a watch; its object stays text.
#[derive(Deserialize)]
pub(super) struct WatchEvent<'a> {
    #[serde(rename = "type")]
    pub(super) kind: EventKind,
    #[serde(borrow)]
    pub(super) object: &'a RawValue,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum EventKind {
    Added,
    Modified,
    Deleted,
    Bookmark,
    Error,
}

/// The point after which a watch receives events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Position {
    /// A list of this version.
    Version(String),
    /// The event or bookmark of this line. Its version is read only when the watch is restarted.
    Event(String),
}

/// Why a list or a watch came to an end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WatchFailure {
    pub(super) why: String,
    /// Whether the position of the watch is lost: only a list helps.
    pub(super) needs_list: bool,
    /// Whether the API server does not have the resource.
    pub(super) is_absent: bool,
}

// === impl Position ===

impl Position {
    /// The version; `None` if the line has none.
    pub(super) fn version(&self) -> Option<String> {
        match self {
            Self::Version(version) => Some(version.clone()),
            Self::Event(line) => text_at(line, "/object/metadata/resourceVersion"),
        }
    }
}

// === impl WatchFailure ===

impl WatchFailure {
    /// The watch may continue at its position.
    fn broken(why: &impl fmt::Display) -> Self {
        Self { why: format!("the API server cannot be reached: {why}"), needs_list: false, is_absent: false }
    }

    fn out_of_step(why: &impl fmt::Display) -> Self {
        Self { why: format!("the API server sent what cannot be used: {why}"), needs_list: true, is_absent: false }
    }

    /// The API server ended the watch by an event of the kind `ERROR`.
    pub(super) fn ended(status: &RawValue) -> Self {
        let message = text_at(status.get(), "/message").unwrap_or_default();
        Self { why: format!("the API server ended the watch: {message}"), needs_list: true, is_absent: false }
    }
}

impl From<Error> for WatchFailure {
    fn from(error: Error) -> Self {
        let Error::Api(status) = &error else { return Self::broken(&error_text(&error)) };
        // Not authorised, too many requests, or an internal error: none concerns the position.
        let needs_list = !matches!(status.code, 401 | 403 | 429 | 500..);
        Self { is_absent: status.code == 404, why: error_text(&error), needs_list }
    }
}

impl From<io::Error> for WatchFailure {
    fn from(error: io::Error) -> Self {
        let is_text = error.kind() != io::ErrorKind::InvalidData;
        if is_text { Self::broken(&error_text(&error)) } else { Self::out_of_step(&error) }
    }
}

impl From<serde_json::Error> for WatchFailure {
    fn from(error: serde_json::Error) -> Self {
        // A line that ends too early was cut off with its connection: the watch continues after the line before it.
        Self { needs_list: !error.is_eof(), ..Self::out_of_step(&error) }
    }
}

/// A page of a list; `token` continues a list.
pub(super) async fn page(client: &Client, resource: Resource, token: Option<String>) -> Result<String, WatchFailure> {
    let field_selector = resource.selector();
    let params =
        ListParams { field_selector, limit: Some(PAGE_OBJECTS), continue_token: token, ..ListParams::default() };
    let request = Request::new(resource.path());
    let request = if resource.is_metadata() { request.list_metadata(&params) } else { request.list(&params) };
    let request = request.map_err(Error::BuildRequest)?;
    answer(client.request_text(request)).await
}

/// The pods that are neither placed nor nominated; those that cannot be read are left out.
pub(crate) async fn waiting_pods(client: &Client) -> Result<Vec<Pod>, String> {
    let (mut pods, mut token) = (vec![], None);
    loop {
        let text = page(client, Resource::Waiting, token).await.map_err(|failure| failure.why)?;
        let ListPage { metadata, items } = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        let read =
            items.unwrap_or_default().into_iter().filter_map(|item| Pod::placed_from_json(item.get().as_bytes()).ok());
        pods.extend(read.filter(|pod| pod.nomination().is_none()));
        if metadata.next.is_empty() {
            return Ok(pods);
        }
        token = Some(metadata.next);
    }
}

/// The lines of a watch, which has the events after this version.
pub(super) async fn watch(
    client: &Client,
    resource: Resource,
    version: &str,
) -> Result<impl Stream<Item = io::Result<String>> + use<>, WatchFailure> {
    let timeout = Some(WATCH_SECONDS.mul_add(0.25 * random_part(), WATCH_SECONDS) as u32);
    let params = WatchParams { field_selector: resource.selector(), timeout, ..WatchParams::default() };
    let request = Request::new(resource.path());
    let request =
        if resource.is_metadata() { request.watch_metadata(&params, version) } else { request.watch(&params, version) };
    let request = request.map_err(Error::BuildRequest)?;
    Ok(answer(client.request_stream(request)).await?.lines())
}

async fn answer<T>(answer: impl Future<Output = kube::Result<T>>) -> Result<T, WatchFailure> {
    let silent = |_| WatchFailure::broken(&format_args!("it was silent for {ANSWER_TIMEOUT:?}"));
    Ok(timeout(ANSWER_TIMEOUT, answer).await.map_err(silent)??)
}

/// A text within JSON, by its pointer.
pub(super) fn text_at(json: &str, pointer: &str) -> Option<String> {
    let value: Value = serde_json::from_str(json).ok()?;
    value.pointer(pointer).and_then(Value::as_str).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    #[test]
    fn a_page_gives_its_objects_as_they_are() {
        let text = r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"c","remainingItemCount":1},"items":[{"a":1},{"b":[]}]}"#;
        let page: ListPage<'_> = serde_json::from_str(text).unwrap();
        assert_eq!((page.metadata.resource_version.as_ref(), page.metadata.next.as_ref()), ("7", "c"));
        let items: Vec<&str> = page.items.unwrap().iter().map(|item| item.get()).collect();
        assert_eq!(items, [r#"{"a":1}"#, r#"{"b":[]}"#]);
        let last: ListPage<'_> = serde_json::from_str(r#"{"metadata":{"resourceVersion":"8"},"items":null}"#).unwrap();
        assert!(last.metadata.next.is_empty() && last.items.is_none());
    }

    #[test]
    fn events_and_bookmarks_have_a_position() {
        let line = r#"{"type":"ADDED","object":{"metadata":{"resourceVersion":"9","annotations":null}}}"#;
        let event: WatchEvent<'_> = serde_json::from_str(line).unwrap();
        assert_eq!(event.kind, EventKind::Added);
        assert_eq!(Position::Event(line.to_owned()).version().as_deref(), Some("9"));
        assert_eq!(Position::Event(r#"{"type":"BOOKMARK","object":{}}"#.to_owned()).version(), None);
        assert!(serde_json::from_str::<WatchEvent<'_>>(r#"{"type":"OTHER","object":{}}"#).is_err());
    }

    #[test]
    fn a_failure_says_whether_a_list_comes_first() {
        let refused = |code| WatchFailure::from(Error::Api(Status::failure("m", "r").with_code(code).boxed()));
        for (code, needs_list) in [(400, true), (410, true), (401, false), (403, false), (429, false), (503, false)] {
            assert_eq!(refused(code).needs_list, needs_list, "{code}");
        }
        assert_eq!(refused(403).why, "the API server answered 403: m");
        let malformed = |line: &str| WatchFailure::from(serde_json::from_str::<WatchEvent<'_>>(line).err().unwrap());
        assert!(malformed("no JSON").needs_list && !malformed(r#"{"type":"ADD"#).needs_list);
        let status = RawValue::from_string(r#"{"code":500,"message":"too old"}"#.to_owned()).unwrap();
        let ended = WatchFailure::ended(&status);
        assert_eq!((ended.why.as_str(), ended.needs_list), ("the API server ended the watch: too old", true));
    }
}
