//! The verbs of the extender protocol, and their URLs.

use plimsoll_core::{ScoreScale, TieBreak};

/// A verb of the extender protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExtenderVerb {
    Filter,
    /// The scale is part of the URL, so that it changes together with the scheduler's configuration.
    Prioritize(ScoreScale),
    Preempt,
    Bind,
}

/// The last segment of the URL at which scores are on this scale: `prioritizeVerb` of kube-scheduler's configuration.
pub const fn prioritize_verb(scale: ScoreScale) -> &'static str {
    match scale {
        ScoreScale::Coarse => "prioritize",
        ScoreScale::Fine => "prioritize-fine",
        ScoreScale::FineWith(TieBreak::Name) => "prioritize-fine-by-name",
        ScoreScale::FineWith(TieBreak::Spread) => "prioritize-fine-spread",
    }
}

// === impl ExtenderVerb ===

impl ExtenderVerb {
    const ALL: [Self; 7] = [
        Self::Filter,
        Self::Prioritize(ScoreScale::Coarse),
        Self::Preempt,
        Self::Bind,
        Self::Prioritize(ScoreScale::Fine),
        Self::Prioritize(ScoreScale::FineWith(TieBreak::Name)),
        Self::Prioritize(ScoreScale::FineWith(TieBreak::Spread)),
    ];

    /// The group (empty for the root) and the verb of a URL's path; extra slashes are ignored.
    pub(crate) fn from_path(path: &str) -> Option<(&str, Self)> {
        let mut segments = path.split('/').filter(|segment| !segment.is_empty());
        let (first, second) = (segments.next()?, segments.next());
        let (group, name) = second.map_or(("", first), |second| (first, second));
        let verb = Self::ALL.into_iter().find(|verb| verb.segment() == name)?;
        segments.next().is_none().then_some((group, verb))
    }

    /// The last segment of the URL.
    pub(crate) const fn segment(self) -> &'static str {
        match self {
            Self::Prioritize(scale) => prioritize_verb(scale),
            _ => self.as_str(),
        }
    }

    /// The name in logs and metrics.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Filter => "filter",
            Self::Prioritize(_) => "prioritize",
            Self::Preempt => "preempt",
            Self::Bind => "bind",
        }
    }
}
