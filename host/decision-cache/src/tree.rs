//! Everything that is known about a function, to be shown.

use crate::{
    attribute::{Attribute, Row, Scope},
    class::{Answer, Class},
    edge::Classes,
    fingerprint::Fingerprint,
    source::Source,
};

/// The next read with its branches, or an answer.
pub enum Tree<S: Source, A> {
    /// The answer.
    Answer(A),
    /// Answers are not cached here: the function is evaluated each time.
    Uncacheable,
    /// An attribute is read.
    Read(S::Attribute, Vec<Branch<S, A>>),
}

/// One value of an attribute, and where it leads.
pub struct Branch<S: Source, A> {
    /// The value's fingerprint.
    pub fingerprint: Fingerprint,
    /// The value; `None` if no row of the source has it.
    pub value: Option<S::Value>,
    /// The tree that it leads to.
    pub next: Tree<S, A>,
}

impl<S: Source, A: Answer> Tree<S, A> {
    pub(crate) fn of(classes: &Classes<S, A>, source: &S) -> Option<Self> {
        match classes {
            Classes::Class(class) if class.is_uncacheable => Some(Self::Uncacheable),
            Classes::Class(class) => Self::of_class(class, source),
            Classes::Read(attribute, branches) => {
                let branch = |(fingerprint, value, next): &(_, S::Value, Classes<S, A>)| {
                    let next = Self::of(next, source)?;
                    Some(Branch { fingerprint: *fingerprint, value: Some(value.clone()), next })
                };
                Some(Self::Read(attribute.clone(), branches.iter().filter_map(branch).collect()))
            }
        }
    }

    fn of_class(class: &Class<S::Attribute, A>, source: &S) -> Option<Self> {
        let rows = source.row_count();
        let column = |attribute| source.columns().known(attribute, rows);
        let columns: Vec<_> = class.attributes.as_slice().iter().map(column).collect();
        let value = |number: u32, fingerprint| {
            let attribute = class.attributes.get(number);
            let row: Option<Row> = match attribute.scope() {
                Scope::Row => match &columns[number as usize] {
                    Some(column) => column.find(fingerprint),
                    None => (source.fingerprint_of_all_rows(attribute) == Some(fingerprint)).then_some(0),
                },
                Scope::Subject | Scope::Snapshot => (source.shared_fingerprint(attribute) == fingerprint).then_some(0),
            };
            Some(source.value(attribute, row?))
        };
        class.trie.fold(&|answer: &A| Self::Answer(answer.clone()), &|number, branches| {
            let branch = |(fingerprint, next)| Branch { fingerprint, value: value(number, fingerprint), next };
            Self::Read(class.attributes.get(number).clone(), branches.into_iter().map(branch).collect())
        })
    }
}
