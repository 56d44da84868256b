//! How a read is written: as in the contract.

use std::fmt;

use super::{NodeRead, PlacedRead, PodRead, Read};

/// As the contract writes it, without the index of the node.
impl fmt::Display for Read<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, argument) = match *self {
            Self::Pod(read) => match read {
                PodRead::Name => ("pod.name", None),
                PodRead::Namespace => ("pod.namespace", None),
                PodRead::Uid => ("pod.uid", None),
                PodRead::Label(key) => ("pod.label", Some(key)),
                PodRead::Annotation(key) => ("pod.annotation", Some(key)),
                PodRead::Priority => ("pod.priority", None),
                PodRead::Request(name) => ("pod.request", Some(name)),
                PodRead::Images => ("pod.images", None),
                PodRead::Field(pointer) => ("pod.field", Some(pointer)),
            },
            Self::Node(_, read) => match read {
                NodeRead::Name => ("node.name", None),
                NodeRead::Label(key) => ("node.label", Some(key)),
                NodeRead::Annotation(key) => ("node.annotation", Some(key)),
                NodeRead::Taints => ("node.taints", None),
                NodeRead::Allocatable(name) => ("node.allocatable", Some(name)),
                NodeRead::Requested(name) => ("node.requested", Some(name)),
                NodeRead::ImageSize(image) => ("node.image-size", Some(image)),
                NodeRead::Field(pointer) => ("node.field", Some(pointer)),
            },
            Self::Placed(_, pod, read) => return placed(f, &pod, read),
            Self::PlacedLabelled { namespace, key, value, .. } => {
                return write!(f, "placed.count-labelled({namespace:?}, {key:?}, {value:?})");
            }
            Self::NodesLabelled { namespace, key, value } => {
                return write!(f, "placed.counts-labelled({namespace:?}, {key:?}, {value:?})");
            }
            Self::Now(granularity) => return write!(f, "host.now({granularity})"),
            Self::CandidateNode(at) => return write!(f, "candidate[{at}].node"),
            Self::CandidateVictims(at) => return write!(f, "candidate[{at}].victims"),
            Self::CandidatePdbViolations(at) => return write!(f, "candidate[{at}].pdb-violations"),
            Self::NodeCount => ("nodes.count", None),
            Self::NodesByLabel(key) => ("nodes.by-label", Some(key)),
            Self::PlacedCount(_) => ("placed.count", None),
            Self::CandidateCount => ("candidates.count", None),
            Self::Settings => ("host.settings", None),
        };
        match argument {
            Some(argument) => write!(f, "{what}({argument:?})"),
            None => f.write_str(what),
        }
    }
}

/// A read of the pod with this index, or of all of them.
pub(crate) fn placed(f: &mut fmt::Formatter<'_>, pod: &dyn fmt::Display, read: PlacedRead<'_>) -> fmt::Result {
    match read {
        PlacedRead::Name => write!(f, "placed[{pod}].name"),
        PlacedRead::Namespace => write!(f, "placed[{pod}].namespace"),
        PlacedRead::Label(key) => write!(f, "placed[{pod}].label({key:?})"),
        PlacedRead::Annotation(key) => write!(f, "placed[{pod}].annotation({key:?})"),
        PlacedRead::Priority => write!(f, "placed[{pod}].priority"),
        PlacedRead::Request(name) => write!(f, "placed[{pod}].request({name:?})"),
        PlacedRead::Created => write!(f, "placed[{pod}].created"),
    }
}
