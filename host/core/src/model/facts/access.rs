//! Which facts one policy may read, and what their absence means.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use super::FactSource;

/// Maximum bytes of the name by which the operator or a policy calls a source.
const MAX_NAME_BYTES: usize = 63;

crate::words! {
    /// The effect of reading a fact that is not there.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub enum AbsentFacts {
        /// The policy gets none, and decides by its default.
        #[default]
        Default = "default",
        /// The decision is made without the policy.
        Ignore = "ignore",
        /// The whole decision fails.
        Fail = "fail",
    }
}

/// The sources that one policy may read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FactAccess {
    /// By its alias, the policy's name for it: the source's name among all [`Facts`](super::Facts).
    names: BTreeMap<Box<str>, Box<str>>,
    absent: AbsentFacts,
}

/// The sources that are files of a policy's sidecar, by their name among all [`Facts`](super::Facts).
pub type SidecarFacts = Arc<[(Arc<str>, Arc<FactSource>)]>;

/// Checks the name by which the operator or a policy calls a source.
///
/// # Errors
/// If it is no such name: the expected form.
pub fn check_source_name(name: &str) -> Result<(), &'static str> {
    let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.bytes().all(is_fit) {
        return Err("expected the name of a source: letters, digits, '.', '_' and '-', at most 63");
    }
    Ok(())
}

// === impl FactAccess ===

impl FactAccess {
    /// Access to these sources: the policy's name for each, and its name among all facts.
    pub fn new<'n>(names: impl IntoIterator<Item = (&'n str, &'n str)>, absent: AbsentFacts) -> Self {
        let names = names.into_iter().map(|(alias, global)| (alias.into(), global.into())).collect();
        Self { names, absent }
    }

    /// A copy that treats absent facts as `absent: default` does.
    #[must_use]
    pub fn lenient(&self) -> Self {
        Self { absent: AbsentFacts::Default, ..self.clone() }
    }

    /// The effect of reading a fact that is not there.
    pub const fn absent(&self) -> AbsentFacts {
        self.absent
    }

    /// The policy's names of its sources, each with the name among all facts.
    pub fn names(&self) -> impl Iterator<Item = (&str, &str)> {
        self.names.iter().map(|(alias, global)| (alias.as_ref(), global.as_ref()))
    }

    /// A read in words, with the policy's name for its source in place of the name among all facts.
    pub(crate) fn in_words_of_policy<'t>(&self, read: &'t str) -> Cow<'t, str> {
        let Some(rest) = read.strip_prefix("facts.") else { return Cow::Borrowed(read) };
        let own = self.names.iter().find_map(|(alias, global)| {
            let (function, arguments) = rest.split_once(&format!("({global:?}"))?;
            (!function.contains('(')).then(|| format!("facts.{function}({alias:?}{arguments}"))
        });
        own.map_or(Cow::Borrowed(read), Cow::Owned)
    }

    /// The name among all facts of a source that the policy names; none if it may not read it.
    pub(crate) fn global_name(&self, alias: &str) -> Option<&str> {
        self.names.get(alias).map(AsRef::as_ref)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_has_the_policys_name_for_its_source() {
        let names = [("prices", "file:p.csv@01"), ("load", "load")];
        let access = FactAccess::new(names, AbsentFacts::Default);
        for (read, expected) in [
            ("facts.node-number(\"file:p.csv@01\")", "facts.node-number(\"prices\")"),
            ("facts.text(\"file:p.csv@01\", \"a\")", "facts.text(\"prices\", \"a\")"),
            ("facts.text(\"load\", \"(\\\"file:p.csv@01\\\")\")", "facts.text(\"load\", \"(\\\"file:p.csv@01\\\")\")"),
            ("node.label(\"file:p.csv@01\")", "node.label(\"file:p.csv@01\")"),
        ] {
            assert_eq!(access.in_words_of_policy(read), expected);
        }
    }
}
