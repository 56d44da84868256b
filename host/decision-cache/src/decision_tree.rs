//! A copy of everything that is known about a function, for display.

use crate::{
    attribute::{Attribute, Row, Scope},
    fingerprint::Fingerprint,
    source::{Source, fingerprints},
    subject_class::SubjectClass,
    subject_tree::{Edge, EdgesByNode, Next, SubjectTree},
    trie::{Answer, Paths, Trie},
};

/// The next read with its branches, or an answer.
pub enum DecisionTree<S: Source, A> {
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
    pub next: DecisionTree<S, A>,
}

impl<S: Source, A: Answer> DecisionTree<S, A> {
    pub(crate) fn of(subjects: &SubjectTree<S, A>, source: &S) -> Option<Self> {
        Self::of_next(subjects.root()?, &subjects.edges_by_node(), source)
    }

    fn of_next(next: &Next<S, A>, edges: &EdgesByNode<'_, S, A>, source: &S) -> Option<Self> {
        match next {
            Next::Class(class) if class.is_uncacheable => Some(Self::Uncacheable),
            Next::Class(class) => Self::of_class(class, source),
            Next::Node(number, attribute) => {
                let branch = |(fingerprint, edge): &(Fingerprint, &Edge<S, A>)| {
                    let next = Self::of_next(&edge.next, edges, source)?;
                    Some(Branch { fingerprint: *fingerprint, value: Some(edge.value.clone()?), next })
                };
                let branches = edges.get(number).into_iter().flatten().filter_map(branch).collect();
                Some(Self::Read(attribute.clone(), branches))
            }
        }
    }

    fn of_class(class: &SubjectClass<S::Attribute, A>, source: &S) -> Option<Self> {
        let Paths { attributes, trie, .. } = &class.paths;
        // Of a snapshot that nobody has asked about yet the columns are empty.
        let all_rows: Vec<Row> = (0..source.row_count() as Row).collect();
        let column = |attribute: &S::Attribute| match attribute.scope() {
            Scope::Row => match source.fingerprint_of_all_rows(attribute) {
                Some(all) => vec![all],
                None => fingerprints(source, attribute, &all_rows),
            },
            Scope::Subject | Scope::Snapshot => vec![source.shared_fingerprint(attribute)],
        };
        let columns: Vec<_> = attributes.as_slice().iter().map(column).collect();
        let value = |number: u32, fingerprint| {
            let attribute = attributes.get(number);
            let row = columns[number as usize].iter().position(|value| *value == fingerprint).map(|row| row as Row);
            Some(source.value(attribute, row?))
        };
        trie.fold(Trie::<A>::ROOT, &|answer: &A| Self::Answer(answer.clone()), &|number, branches| {
            let branch = |(fingerprint, next)| Branch { fingerprint, value: value(number, fingerprint), next };
            Self::Read(attributes.get(number).clone(), branches.into_iter().map(branch).collect())
        })
    }
}
