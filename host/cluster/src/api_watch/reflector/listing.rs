//! Puts all objects of a resource into the store, page by page.

use bytes::Bytes;
use serde_json::value::RawValue;
use tracing::{debug, info};

use super::{Reflector, malformed};
use crate::{
    api_watch::{
        failure::WatchFailure,
        resource::WatchedObject,
        wire::{self, EventKind, ListPage, WireMetadata},
    },
    clock,
};

/// A page whose objects are in the store.
struct PutPage {
    /// Where the next page begins; `None` after the last one.
    next: Option<String>,
    /// The version of the list.
    version: String,
    count: usize,
}

// === impl Reflector ===

impl Reflector {
    /// Puts all that there is into the store, page by page.
    pub(super) async fn list(&mut self) -> Result<(), WatchFailure> {
        let covers = *self.wanted.borrow_and_update();
        let began = clock::now();
        self.shared.begin(self.resource);
        self.unreadable.begin_list();
        let (mut next, mut count) = (None, 0);
        let version = loop {
            let page = self.put_page(next).await?;
            count += page.count;
            next = page.next;
            if next.is_none() {
                break page.version;
            }
        };
        self.unreadable.end_list();
        self.report_unreadable();
        self.shared.listed(self.resource, began, covers);
        self.version = Some(version);
        info!(resource = self.resource.name(), count, took = ?clock::now().saturating_duration_since(began), "listed");
        Ok(())
    }

    /// Puts the objects of a page into the store; a page that is too large is requested again in smaller ones.
    async fn put_page(&mut self, token: Option<String>) -> Result<PutPage, WatchFailure> {
        loop {
            match self.requests.page(self.pages.limit(), token.clone()).await {
                Ok(text) => {
                    self.pages.fits(text.len());
                    let ListPage { metadata, items } = serde_json::from_slice(&text).map_err(malformed)?;
                    let items = items.unwrap_or_default();
                    self.put_objects(&items);
                    return Ok(PutPage::new(metadata, items.len()));
                }
                Err(WatchFailure::TooLarge { most, .. }) if self.pages.halve() => {
                    let (resource, limit) = (self.resource.name(), self.pages.limit());
                    debug!(resource, most, limit, "a page is too large: it is requested again in smaller ones");
                }
                Err(WatchFailure::TooLarge { most, beginning }) => return self.skip_object(most, &beginning),
                Err(failure) => return Err(failure),
            }
        }
    }

    fn put_objects(&mut self, items: &[&RawValue]) {
        let read = |item: &&RawValue| self.read(item.get(), EventKind::Added);
        let read: Vec<WatchedObject> = items.iter().filter_map(read).collect();
        self.record().alive();
        self.shared.apply(read.into_iter().map(|object| (object, EventKind::Added)));
    }

    /// Skips a page of one object that is too large, by the beginning of the response.
    fn skip_object(&mut self, most: usize, beginning: &[u8]) -> Result<PutPage, WatchFailure> {
        let too_large = || WatchFailure::TooLarge { most, beginning: Bytes::new() };
        let (metadata, first) = wire::heads(beginning).ok_or_else(too_large)?;
        let object = first.and_then(|first| self.resource.unreadable_with(&first, ""));
        let object = self.add_unreadable(object, &format!("it has more than {most} bytes"), EventKind::Added);
        self.shared.apply(object.map(|object| (object, EventKind::Added)));
        Ok(PutPage::new(metadata, 0))
    }
}

// === impl PutPage ===

impl PutPage {
    fn new(metadata: WireMetadata<'_>, count: usize) -> Self {
        let next = (!metadata.next.is_empty()).then(|| metadata.next.into_owned());
        Self { next, version: metadata.resource_version.into_owned(), count }
    }
}
