//! What expressions can name: the fields of the objects and the functions, with their types and reads.
//!
//! Both are tables of text, one line each, since they are read by people more often than by programs. A read is named as
//! the contract names it, `pod.label`.

use std::collections::BTreeMap;

use crate::types::Ty;

/// The variables that each expression has, and their types. `settings` has that of the sidecar's settings.
pub(crate) const ROOTS: [(&str, &str); 6] = [
    ("pod", "Pod"),
    ("node", "Node"),
    ("placed", "list<Placed>"),
    ("cluster", "Cluster"),
    ("facts", "Facts"),
    ("now", "timestamp"),
];

/// `OBJECT FIELD TYPE READ`. After a type, `?` says that the field may be absent.
const FIELDS: &str = "
Pod name string pod.name
Pod namespace string pod.namespace
Pod uid string pod.uid
Pod labels PodLabels -
Pod annotations PodAnnotations -
Pod namespaceLabels NamespaceLabels -
Pod namespaceKnown bool pod.namespace-known
Pod priority int pod.priority
Pod priorityClass string? pod.priority-class
Pod controller Owner? pod.controller
Pod created timestamp? pod.created
Pod images list<string> pod.images
Node name string nodes.name
Node labels NodeLabels -
Node annotations NodeAnnotations -
Node conditions Conditions -
Node taints list<Taint> nodes.taints
Node unschedulable bool nodes.unschedulable
Node podsKnown bool placed.known
Placed name string placed.name
Placed namespace string placed.namespace
Placed labels PlacedLabels -
Placed annotations PlacedAnnotations -
Placed priority int placed.priority
Placed priorityClass string? placed.priority-class
Placed controller Owner? placed.controller
Placed phase string? placed.phase
Placed terminating bool placed.terminating
Placed created timestamp? placed.created
Owner apiVersion string -
Owner kind string -
Owner name string -
Owner uid string -
Taint key string -
Taint value string -
Taint effect string -
LabelCount value string -
LabelCount nodes int -
";

/// `MAP READ-OF-ONE READ-OF-ALL`: maps of texts, read key by key. An absent key reads as the empty text.
const TEXT_MAPS: &str = "
PodLabels pod.label pod.field
PodAnnotations pod.annotation pod.field
NamespaceLabels pod.namespace-label -
NodeLabels nodes.label nodes.field
NodeAnnotations nodes.annotation nodes.field
Conditions nodes.condition -
PlacedLabels placed.label -
PlacedAnnotations placed.annotation -
";

/// `NAMES(PARAMETERS) RESULT READS`. A function with a point is called on its first parameter; `|` is between types of which
/// it takes any. The variable `C` stands for types that can be compared, `S` for those that can be summed.
const FUNCTIONS: &str = "
.request(Pod,string) quantity pod.request
.field(Pod,string) optional<dyn> pod.field
.allocatable(Node,string) quantity nodes.allocatable
.capacity(Node,string) quantity nodes.capacity
.requested(Node,string) quantity nodes.requested
.free(Node,string) quantity nodes.resource-known nodes.requested nodes.allocatable
.resourceKnown(Node,string) bool nodes.resource-known
.imageSize(Node,string) optional<int> nodes.image-size
.field(Node,string) optional<dyn> nodes.field
.factText(Node,string) optional<string> facts.node-text
.factNumber(Node,string) optional<double> facts.node-number
.request(Placed,string) quantity placed.request
.count(list<Placed>) int placed.count
.count(list<Placed>,string,string,string) int placed.count-labelled
.text(Facts,string,string) optional<string> facts.text
.number(Facts,string,string) optional<double> facts.number
.namespace(Cluster,string) Cluster
.label(Cluster,string,string) Cluster
.annotation(Cluster,string,string) Cluster
.nodeLabel(Cluster,string,string) Cluster
.count(Cluster) int cluster.count
.countUpTo(Cluster,int) int cluster.count-up-to
.atLeast(Cluster,int) bool cluster.at-least
.requested(Cluster,string) quantity cluster.requested
.nodesWithLabel(Cluster,string,string) int cluster.nodes-with-label
.labelValues(Cluster,string) list<LabelCount> cluster.label-values
size(string|bytes|list<A>|map<A,B>) int
.size(string|bytes|list<A>|map<A,B>) int
bool(bool|string) bool
int(int|uint|double|string|timestamp) int
uint(uint|int|double|string) uint
double(double|int|uint|string) double
string(string|bool|int|uint|double|bytes|ip|timestamp|duration) string
bytes(bytes|string) bytes
dyn(A) dyn
type(A) type
duration(duration|string) duration
timestamp(timestamp|string|int) timestamp
.getFullYear .getMonth .getDate .getDayOfMonth .getDayOfWeek .getDayOfYear(timestamp) int
.getHours .getMinutes .getSeconds .getMilliseconds(timestamp|duration) int
.getFullYear .getMonth .getDate .getDayOfMonth .getDayOfWeek .getDayOfYear(timestamp,string) int
.getHours .getMinutes .getSeconds .getMilliseconds(timestamp,string) int
.contains .startsWith .endsWith .matches matches(string,string) bool
.find(string,string) string
.findAll(string,string) list<string>
.findAll(string,string,int) list<string>
.charAt(string,int) string
.indexOf .lastIndexOf(string,string) int
.indexOf .lastIndexOf(string,string,int) int
.lowerAscii .upperAscii .trim strings.quote(string) string
.replace(string,string,string) string
.replace(string,string,string,int) string
.split(string,string) list<string>
.split(string,string,int) list<string>
.substring(string,int) string
.substring(string,int,int) string
.join(list<string>) string
.join(list<string>,string) string
.format(string,list<dyn>) string
.isSorted(list<C>) bool
.min .max(list<C>) C
.sum(list<S>) S
.indexOf .lastIndexOf(list<A>,A) int
.includes(dyn,dyn) bool
.slice(list<A>,int,int) list<A>
.flatten(list<list<A>>) list<A>
.distinct .reverse(list<A>) list<A>
.sort(list<C>) list<C>
lists.range(int) list<int>
optional.of optional.ofNonZeroValue(A) optional<A>
optional.none() optional<A>
.hasValue(optional<A>) bool
.value(optional<A>) A
.or(optional<A>,optional<A>) optional<A>
.orValue(optional<A>,A) A
quantity(string) quantity
isQuantity isIP ip.isCanonical isSemver(string) bool
isSemver(string,bool) bool
sign(quantity) int
.asApproximateFloat(quantity) double
.asInteger(quantity) int
.isInteger(quantity) bool
.add .sub(quantity,quantity|int) quantity
.isGreaterThan .isLessThan(quantity,quantity) bool
.isGreaterThan .isLessThan(semver,semver) bool
.compareTo(quantity,quantity) int
.compareTo(semver,semver) int
semver(string) semver
semver(string,bool) semver
.major .minor .patch(semver) int
ip(string) ip
.family(ip) int
.isUnspecified .isLoopback .isLinkLocalMulticast .isLinkLocalUnicast .isGlobalUnicast(ip) bool
";

/// Functions that Kubernetes has, and plimsoll does not have yet.
const LEFT_OUT: &str = "url isURL getScheme getHost getHostname getPort getEscapedPath getQuery cidr isCIDR containsIP \
    containsCIDR masked prefixLength sets.contains sets.intersects sets.equivalent transformList transformMap \
    transformMapEntry sortBy format.named validate authorizer cel.bind first last";

/// Before the key of a map of texts that reads as `""` where it is absent. No key of Kubernetes begins with it.
pub(crate) const LENIENT: char = '@';

/// Variables for the types of one call: `A` to `Z`.
pub(crate) const VARIABLES: usize = 26;

/// A field of an object.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) ty: Ty,
    pub(crate) read: Option<&'static str>,
    pub(crate) may_be_absent: bool,
}

/// One overload of a function.
#[derive(Debug)]
pub(crate) struct Overload {
    pub(crate) is_method: bool,
    signature: &'static str,
    /// Which of the types between `|`.
    choice: usize,
    pub(crate) reads: &'static str,
}

/// The tables, to look up in.
#[derive(Debug)]
pub(crate) struct Schema {
    fields: BTreeMap<(&'static str, &'static str), Field>,
    text_maps: BTreeMap<&'static str, (&'static str, Option<&'static str>)>,
    functions: BTreeMap<&'static str, Vec<Overload>>,
}

// === impl Schema ===

impl Schema {
    pub(crate) fn new() -> Self {
        let mut schema = Self { fields: BTreeMap::new(), text_maps: BTreeMap::new(), functions: BTreeMap::new() };
        for line in lines(FIELDS) {
            let [object, name, ty, read] = words(line);
            let (ty, rest) = Ty::read(ty, 0);
            let field = Field { ty, read: read_of(read), may_be_absent: rest == "?" };
            schema.fields.insert((object, name), field);
        }
        for line in lines(TEXT_MAPS) {
            let [map, one, all] = words(line);
            schema.text_maps.insert(map, (one, read_of(all)));
        }
        for line in lines(FUNCTIONS) {
            let (names, signature) = line.split_once('(').unwrap_or((line, ""));
            let (signature, reads) = match signature.match_indices(' ').nth(1) {
                Some((at, _)) => signature.split_at(at),
                None => (signature, ""),
            };
            for name in names.split(' ') {
                let is_method = name.starts_with('.');
                let choices = 1 + signature.matches('|').count();
                let overloads = (0..choices).map(|choice| Overload { is_method, signature, choice, reads });
                schema.functions.entry(name.trim_start_matches('.')).or_default().extend(overloads);
            }
        }
        schema
    }

    pub(crate) fn field(&self, object: &str, name: &str) -> Option<&Field> {
        self.fields.iter().find(|((owner, field), _)| *owner == object && *field == name).map(|(_, field)| field)
    }

    /// The names of an object's fields.
    pub(crate) fn fields_of<'s>(&'s self, object: &'s str) -> impl Iterator<Item = &'static str> + 's {
        self.fields.keys().filter(move |(owner, _)| *owner == object).map(|(_, field)| *field)
    }

    /// The read of one key of a map of texts, and that of all of them.
    pub(crate) fn text_map(&self, ty: &Ty) -> Option<(&'static str, Option<&'static str>)> {
        match ty {
            Ty::Named(name) => self.text_maps.get(name).copied(),
            _ => None,
        }
    }

    pub(crate) fn overloads(&self, name: &str, is_method: bool) -> Vec<&Overload> {
        let all = self.functions.get(name).map_or(&[][..], Vec::as_slice);
        all.iter().filter(|overload| overload.is_method == is_method).collect()
    }

    pub(crate) fn functions(&self) -> impl Iterator<Item = &'static str> {
        self.functions.keys().copied()
    }

    /// The names of the functions that a value of this type has.
    pub(crate) fn methods_of(&self, ty: &Ty) -> Vec<&'static str> {
        let is_first = |overload: &Overload| overload.is_method && overload.types(0).0.first() == Some(ty);
        self.functions.iter().filter(|(_, all)| all.iter().any(is_first)).map(|(name, _)| *name).collect()
    }
}

/// Whether Kubernetes has this function, and plimsoll leaves it out.
pub(crate) fn is_left_out(name: &str) -> bool {
    LEFT_OUT.split_whitespace().any(|left_out| left_out == name) || name.starts_with("format.")
}

fn lines(table: &'static str) -> impl Iterator<Item = &'static str> {
    table.lines().filter(|line| !line.is_empty())
}

fn words<const N: usize>(line: &'static str) -> [&'static str; N] {
    let mut words = line.split(' ');
    std::array::from_fn(|_| words.next().unwrap_or_default())
}

fn read_of(word: &'static str) -> Option<&'static str> {
    (word != "-").then_some(word)
}

// === impl Overload ===

impl Overload {
    /// The types of the parameters and of the result, with the variables from this number on.
    pub(crate) fn types(&self, first_var: usize) -> (Vec<Ty>, Ty) {
        let mut parameters = Vec::new();
        let mut rest = self.signature;
        while !rest.starts_with(')') && !rest.is_empty() {
            let (mut ty, mut after) = Ty::read(rest, first_var);
            for choice in 1.. {
                let Some(other) = after.strip_prefix('|') else { break };
                let (next, behind) = Ty::read(other, first_var);
                ty = if choice == self.choice { next } else { ty };
                after = behind;
            }
            parameters.push(ty);
            rest = after.trim_start_matches(',');
        }
        (parameters, Ty::read(rest.trim_start_matches([')', ' ']), first_var).0)
    }

    /// `(string, int)`: what it takes beside the value that it is called on.
    pub(crate) fn parameters(&self) -> String {
        let (types, _) = self.types(0);
        let own: Vec<_> = types.iter().skip(usize::from(self.is_method)).map(Ty::to_string).collect();
        format!("({})", own.join(", "))
    }
}
