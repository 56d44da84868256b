//! The API server's lists and watch events, as far as they are read.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// One page of a list; its objects stay text.
#[derive(Deserialize)]
pub(super) struct ListPage<'a> {
    #[serde(borrow, default)]
    pub(super) metadata: WireMetadata<'a>,
    #[serde(borrow, default)]
    pub(super) items: Option<Vec<&'a RawValue>>,
}

/// One line of a watch.
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

/// The metadata of a list, or of an object.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct WireMetadata<'a> {
    #[serde(borrow)]
    pub(super) resource_version: Cow<'a, str>,
    /// Where the next page begins; empty after the last one.
    #[serde(borrow, rename = "continue")]
    pub(super) next: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) namespace: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) name: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) uid: Cow<'a, str>,
}

/// Any object.
#[derive(Deserialize)]
pub(super) struct AnyObject<'a> {
    #[serde(borrow, default)]
    pub(super) metadata: WireMetadata<'a>,
}

/// Which node a pod is bound to, where little else of it can be read.
#[derive(Deserialize)]
pub(super) struct BoundPod<'a> {
    #[serde(borrow, default)]
    pub(super) spec: BoundPodSpec<'a>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct BoundPodSpec<'a> {
    #[serde(borrow)]
    pub(super) node_name: Cow<'a, str>,
}

/// The first two `metadata` of the beginning of a page: that of the list, and that of its first object.
///
/// The API server writes metadata first, in both.
pub(super) fn heads(beginning: &[u8]) -> Option<(WireMetadata<'_>, Option<WireMetadata<'_>>)> {
    let metadata = |text: &'_ [u8]| -> Option<usize> { find(text, b"\"metadata\":") };
    let at = metadata(beginning)?;
    let rest = &beginning[at..];
    let own = serde_json::Deserializer::from_slice(rest).into_iter::<WireMetadata<'_>>().next()?.ok()?;
    let items = find(rest, b"\"items\":[")?;
    let items = &rest[items..];
    let first = metadata(items)
        .and_then(|at| serde_json::Deserializer::from_slice(&items[at..]).into_iter::<WireMetadata<'_>>().next()?.ok());
    Some((own, first))
}

/// Where a text ends within another.
fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part).map(|at| at + part.len())
}

/// The error object that the API server sends instead of a result.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Status<'a> {
    pub(super) code: u16,
    #[serde(borrow)]
    pub(super) message: Cow<'a, str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_gives_its_objects_as_they_are() {
        let text = r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"c","remainingItemCount":1},"items":[{"a":1},{"b":[]}]}"#;
        let page: ListPage<'_> = serde_json::from_str(text).unwrap();
        assert_eq!((page.metadata.resource_version.as_ref(), page.metadata.next.as_ref()), ("7", "c"));
        assert_eq!(
            page.items.unwrap().iter().map(|item| item.get()).collect::<Vec<_>>(),
            [r#"{"a":1}"#, r#"{"b":[]}"#]
        );
        let last: ListPage<'_> = serde_json::from_str(r#"{"metadata":{"resourceVersion":"8"},"items":null}"#).unwrap();
        assert!(last.metadata.next.is_empty() && last.items.is_none());
    }

    #[test]
    fn an_event_has_a_kind_that_is_known() {
        let text = r#"{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"9","creationTimestamp":null}}}"#;
        let event: WatchEvent<'_> = serde_json::from_str(text).unwrap();
        let object: AnyObject<'_> = serde_json::from_str(event.object.get()).unwrap();
        assert_eq!((event.kind, object.metadata.resource_version.as_ref()), (EventKind::Bookmark, "9"));
        assert!(serde_json::from_str::<WatchEvent<'_>>(r#"{"type":"OTHER","object":{}}"#).is_err());
    }
}
