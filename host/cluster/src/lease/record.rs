//! The Lease object, and the fields of it that an election reads.

use std::{sync::Arc, time::Duration};

use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
    jiff::Timestamp,
};

use crate::term::LeaseTimings;

/// The annotation of the Lease with its holder's URL.
pub const URL_ANNOTATION: &str = "plimsoll/url";

/// A Lease as an election sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LeaseRecord {
    /// `None`: nobody.
    pub(crate) holder: Option<Arc<str>>,
    /// The URL of the holder.
    pub(crate) url: Option<Arc<str>>,
    /// The duration that its holder wrote.
    pub(crate) timings: LeaseTimings,
    /// `metadata.resourceVersion`.
    pub(crate) version: Box<str>,
}

/// A write of the Lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LeaseWrite {
    /// The `resourceVersion` that it must still have; `None`: there must be no Lease.
    pub(crate) version: Option<Box<str>>,
    /// `None` releases it.
    pub(crate) holder: Option<Arc<str>>,
    /// Whether the holder changes.
    pub(crate) is_transition: bool,
}

// === impl LeaseRecord ===

impl LeaseRecord {
    pub(crate) fn of(lease: &Lease) -> Self {
        let text = |text: Option<&String>| text.filter(|text| !text.is_empty()).map(|text| text.as_str().into());
        let spec = lease.spec.as_ref();
        let holder = spec.and_then(|spec| text(spec.holder_identity.as_ref()));
        let url = lease.metadata.annotations.as_ref().and_then(|annotations| text(annotations.get(URL_ANNOTATION)));
        let seconds = spec.and_then(|spec| spec.lease_duration_seconds).unwrap_or_default();
        let timings = LeaseTimings::new(Duration::from_secs(u64::try_from(seconds).unwrap_or_default()));
        let version = lease.metadata.resource_version.as_deref().unwrap_or_default().into();
        Self { holder, url, timings, version }
    }
}

/// The Lease that a claim writes; it keeps the other fields of `last`, the Lease that was read.
pub(crate) fn lease_of(
    last: Option<&Lease>,
    name: &str,
    lease_write: &LeaseWrite,
    timings: LeaseTimings,
    url: &str,
) -> Lease {
    let mut lease = last.cloned().unwrap_or_else(|| Lease {
        metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
        spec: None,
    });
    lease.metadata.resource_version = lease_write.version.as_deref().map(str::to_owned);
    let annotations = lease.metadata.annotations.get_or_insert_default();
    match &lease_write.holder {
        Some(_) => annotations.insert(URL_ANNOTATION.to_owned(), url.to_owned()),
        None => annotations.remove(URL_ANNOTATION),
    };
    let now = MicroTime(Timestamp::now());
    let spec = lease.spec.get_or_insert_with(LeaseSpec::default);
    // client-go releases a Lease by an empty holder.
    spec.holder_identity = Some(lease_write.holder.as_deref().unwrap_or_default().to_owned());
    spec.lease_duration_seconds = i32::try_from(timings.lease().as_secs()).ok();
    spec.renew_time = Some(now.clone());
    if lease_write.is_transition {
        spec.acquire_time = Some(now);
        spec.lease_transitions = Some(spec.lease_transitions.map_or(0, |count| count.saturating_add(1)));
    }
    lease
}
