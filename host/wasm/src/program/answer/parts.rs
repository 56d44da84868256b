//! The parts of an answer, and the keys of each.

/// A value in an answer: of the type that the parser expects next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    FilterResult,
    /// Whole nodes, of which only the names are read.
    Nodes,
    Items,
    Node,
    Metadata,
    Names,
    /// Names of nodes with reasons.
    Reasons(AnswerList),
    Name(AnswerList),
    Reason(AnswerList),
    /// The program's error.
    Error,
    Priorities,
    Priority,
    Score,
}

/// A list of an answer that names nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerList {
    Nodes,
    Names,
    Failed,
    Unresolvable,
    Priorities,
}

/// A key of an object: as in Go, in lower camel case, and in lower case.
pub(super) struct Field {
    pub(super) names: &'static [&'static str],
    pub(super) part: Part,
    pub(super) is_required: bool,
}

const FILTER_RESULT: &[Field] = &[
    optional(&["Nodes", "nodes"], Part::Nodes),
    optional(&["NodeNames", "nodeNames", "nodenames"], Part::Names),
    optional(&["FailedNodes", "failedNodes", "failednodes"], Part::Reasons(AnswerList::Failed)),
    optional(
        &["FailedAndUnresolvableNodes", "failedAndUnresolvableNodes", "failedandunresolvablenodes"],
        Part::Reasons(AnswerList::Unresolvable),
    ),
    optional(&["Error", "error"], Part::Error),
];
const NODES: &[Field] = &[optional(&["items"], Part::Items)];
const NODE: &[Field] = &[required(&["metadata"], Part::Metadata)];
const METADATA: &[Field] = &[required(&["name"], Part::Name(AnswerList::Nodes))];
const PRIORITY: &[Field] =
    &[required(&["Host", "host"], Part::Name(AnswerList::Priorities)), required(&["Score", "score"], Part::Score)];

const fn optional(names: &'static [&'static str], part: Part) -> Field {
    Field { names, part, is_required: false }
}

const fn required(names: &'static [&'static str], part: Part) -> Field {
    Field { names, part, is_required: true }
}

// === impl Part ===

impl Part {
    /// The keys of an object; none of a part that is no object, or has names of nodes as its keys.
    pub(super) const fn fields(self) -> &'static [Field] {
        match self {
            Self::FilterResult => FILTER_RESULT,
            Self::Nodes => NODES,
            Self::Node => NODE,
            Self::Metadata => METADATA,
            Self::Priority => PRIORITY,
            _ => &[],
        }
    }

    /// The items of a list.
    pub(super) const fn item(self) -> Option<Self> {
        match self {
            Self::Items => Some(Self::Node),
            Self::Names => Some(Self::Name(AnswerList::Names)),
            Self::Priorities => Some(Self::Priority),
            _ => None,
        }
    }

    /// Whether it may be null: Go writes an empty list or map in this way.
    pub(super) const fn is_nullable(self) -> bool {
        matches!(self, Self::Nodes | Self::Items | Self::Names | Self::Reasons(_) | Self::Error | Self::Priorities)
    }

    pub(super) const fn expected(self) -> &'static str {
        match self {
            Self::FilterResult | Self::Nodes | Self::Node | Self::Metadata | Self::Priority => "an object",
            Self::Reasons(_) => "an object with a reason for each node",
            Self::Items | Self::Names | Self::Priorities => "a list",
            Self::Name(_) | Self::Reason(_) | Self::Error => "a string",
            Self::Score => "a whole number",
        }
    }
}

// === impl AnswerList ===

impl AnswerList {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Nodes => "Nodes",
            Self::Names => "NodeNames",
            Self::Failed => "FailedNodes",
            Self::Unresolvable => "FailedAndUnresolvableNodes",
            Self::Priorities => "the HostPriorityList",
        }
    }
}
