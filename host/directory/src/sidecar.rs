//! A sidecar, the operator's configuration of one policy: as it stands in the file, and as checked values.

mod cel;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use plimsoll_core::{
    AbsentFacts, Match, Mode, OnError, Operator, PROGRAM_VERBS, PlaceMode, PolicyConfig, Requirement, Verb, Verbs,
    check_source_name, parse_quantity, quotable,
};
use plimsoll_yaml::{FieldError, Format, position};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_saphyr::Spanned;

pub(crate) use self::cel::CelRule;
use self::cel::RawCel;

/// Maximum bytes of a sidecar, as of a ConfigMap.
pub(crate) const MAX_BYTES: u64 = 1 << 20;

/// Maximum timeout of a policy; kube-scheduler waits for a few seconds.
const MAX_TIMEOUT: Duration = Duration::from_mins(1);

/// Minimum memory of a policy: one page of WebAssembly.
const MIN_MEMORY: usize = 64 << 10;

/// Maximum sources of facts of one policy.
const MAX_SOURCES: usize = 16;

/// Small limits: a sidecar is written by hand.
const FORMAT: Format = Format {
    max_nodes: 100_000,
    max_replayed_events: 256,
    free_field: Some("settings"),
    empty: "the file is empty: expected at least one key, or '{}' for the defaults",
};

/// The settings of a sidecar, with defaults filled in.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sidecar {
    /// The module, if it is not the file with the policy's name.
    pub(crate) module: Option<ModulePath>,
    /// The only module that is accepted, `sha256:…`.
    pub(crate) digest: Option<Box<str>>,
    /// The settings for plimsoll.
    pub(crate) config: PolicyConfig,
    /// The settings for the policy, as JSON.
    pub(crate) settings: Arc<str>,
    /// Whether the operator gave a weight, which only scoring policies use.
    pub(crate) weighted: bool,
    /// Whether the operator gave a timeout; otherwise it is the default of the kind of module.
    pub(crate) has_timeout: bool,
    /// The verbs that a program is asked.
    pub(crate) stdio: Option<Verbs>,
    /// The sources of facts that the policy reads, by name.
    pub(crate) facts: Vec<FactUse>,
    /// The rule, if it is here and not in a module.
    pub(crate) cel: Option<CelRule>,
}

/// A module's file by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModulePath {
    pub(crate) name: Box<str>,
    /// Whether it is in the root while the policy is in a group.
    pub(crate) in_root: bool,
}

/// A source of facts that a policy reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FactUse {
    /// The policy's name for it.
    pub(crate) name: Box<str>,
    /// The file in the sidecar's directory that it is; none: it is one of the gateway's, of the same name.
    pub(crate) file: Option<Box<str>>,
}

// The sidecar as it stands in the file: editors show the doc comments.

/// Says how plimsoll uses one policy. It lies beside the module: `gpu.yaml` for `gpu.wasm`. With `cel` it is the policy.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(title = "plimsoll policy")]
struct RawSidecar {
    /// The module's file in the same directory, or `../name.wasm` for one in the root. Default: the sidecar's name.
    #[schemars(with = "Option<String>")]
    module: Option<Spanned<String>>,
    /// Whether the policy's answers count: they are obeyed, only recorded (`shadow`), or it is never asked (`off`). Default:
    /// enforce.
    #[schemars(with = "Option<String>", extend("enum" = ["enforce", "shadow", "off", null]))]
    mode: Option<Spanned<String>>,
    /// Filters run in ascending order, then by name. Default: 100.
    order: Option<i32>,
    /// Share in the score; 0 takes it out. Default: 1.
    weight: Option<u32>,
    /// The effect of a fault of the policy on the decision: all of it fails, or it is made without this policy. Default:
    /// fail for filter, preempt and bind, ignore for score and rank.
    #[schemars(with = "Option<String>", extend("enum" = ["fail", "ignore", null]))]
    on_error: Option<Spanned<String>>,
    /// Time of one request, all nodes together, such as `100ms` or `2s`; at most 60s. Default: 100ms, of a program
    /// on standard input 2s.
    #[schemars(with = "Option<String>")]
    timeout: Option<Spanned<String>>,
    /// Bytes of memory that the policy may use, as a Kubernetes quantity such as `64Mi`. Default: 64Mi.
    #[schemars(schema_with = "quantity_schema")]
    memory: Option<Spanned<String>>,
    /// Refuses any module but this one: `sha256:` and 64 hexadecimal digits.
    #[schemars(with = "Option<String>", extend("pattern" = "^sha256:[0-9a-f]{64}$"))]
    digest: Option<Spanned<String>>,
    /// The sources of facts that the policy reads: names of the gateway's sources, and `.csv` files in the directory of the
    /// sidecar, each a source with the name of the file without `.csv`. Default: none.
    #[schemars(with = "Option<Vec<String>>")]
    facts: Option<Vec<Spanned<String>>>,
    /// The effect of reading a fact that is not there: the policy gets none and decides by its default, the decision is
    /// made without this policy, or the whole decision fails. Default: default.
    #[schemars(with = "Option<String>", extend("enum" = ["default", "ignore", "fail", null]))]
    absent: Option<Spanned<String>>,
    /// Whether the policy's filter may count pods or read those on a node; if not, such a read is a fault. Default: if its
    /// module imports such a function.
    counts: Option<bool>,
    /// Which pods get one node that fits, and count there before their bind, where the filter counts pods: members of pod
    /// groups and pods that wait for volumes or claims (`early`), `none`, or `all`. Default: early.
    #[schemars(with = "Option<String>", extend("enum" = ["early", "none", "all", null]))]
    places: Option<Spanned<String>>,
    /// The part in decisions of a program that answers on standard output. Only for a module with `_start` and without
    /// verbs.
    #[schemars(with = "Option<RawStdio>")]
    stdio: Option<Spanned<RawStdio>>,
    /// Which pods the policy is asked about; all parts must hold. Default: every pod.
    #[serde(rename = "match")]
    matches: Option<RawMatch>,
    /// The rule in CEL, in place of a module.
    #[schemars(with = "Option<RawCel>")]
    cel: Option<Spanned<RawCel>>,
    /// The policy's settings; it gets them as JSON and may refuse them.
    settings: Option<serde_json::Value>,
}

/// The part in decisions of a program that answers on standard output.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Stdio")]
struct RawStdio {
    /// The verbs that the program is started with as its first argument. Default: filter.
    #[schemars(with = "Option<Vec<RawStdioVerb>>", length(min = 1))]
    verbs: Option<Spanned<Vec<RawStdioVerb>>>,
}

/// A verb of a program.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "StdioVerb")]
enum RawStdioVerb {
    /// It answers with an `ExtenderFilterResult`.
    Filter,
    /// It answers with a `HostPriorityList`.
    Prioritize,
}

/// Which pods a policy is asked about; all parts that are given must hold.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(rename = "Match")]
struct RawMatch {
    /// The pod is in one of these namespaces.
    #[schemars(with = "Option<Vec<String>>", length(min = 1))]
    namespaces: Option<Spanned<Vec<Spanned<String>>>>,
    /// The labels of the pod's namespace fit this Kubernetes label selector; of a namespace that is not known they do.
    namespace_selector: Option<RawSelector>,
    /// The pod is of one of these profiles of kube-scheduler, by its `spec.schedulerName`.
    #[schemars(with = "Option<Vec<String>>", length(min = 1))]
    scheduler_names: Option<Spanned<Vec<Spanned<String>>>>,
    /// The pod's labels fit this Kubernetes label selector.
    pod_selector: Option<RawSelector>,
    /// A container names one of these resources in its requests or limits.
    #[schemars(with = "Option<Vec<String>>", length(min = 1))]
    resources: Option<Spanned<Vec<Spanned<String>>>>,
    /// A pod that fits all parts of this match is left out.
    #[schemars(with = "Option<Box<RawMatch>>")]
    exclude: Option<Box<Spanned<Self>>>,
}

/// A Kubernetes label selector: all requirements must hold.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(rename = "LabelSelector")]
struct RawSelector {
    /// Labels with exactly these values.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, String>")]
    match_labels: BTreeMap<String, Spanned<String>>,
    /// Requirements on labels.
    #[serde(default)]
    #[schemars(with = "Vec<RawRequirement>")]
    match_expressions: Vec<Spanned<RawRequirement>>,
}

/// One requirement on a label.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(rename = "Requirement")]
struct RawRequirement {
    /// The label's key.
    #[schemars(with = "String")]
    key: Spanned<String>,
    /// The comparison with the label.
    operator: RawOperator,
    /// The values that the label is compared with: at least one for `In` and `NotIn`, none for `Exists` and
    /// `DoesNotExist`.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    values: Vec<Spanned<String>>,
}

/// A comparison with a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(rename = "Operator")]
enum RawOperator {
    /// The label has one of the values.
    In,
    /// The label is absent or has none of the values.
    NotIn,
    /// The label is there.
    Exists,
    /// The label is absent.
    DoesNotExist,
}

// === impl Sidecar ===

impl Sidecar {
    /// The files with facts that it names.
    pub(crate) fn fact_files(&self) -> impl Iterator<Item = &str> {
        self.facts.iter().filter_map(|used| used.file.as_deref())
    }

    /// Reads the text of a sidecar; `most_memory` bounds the memory that it may give its policy.
    pub(crate) fn parse(text: &str, most_memory: usize) -> Result<Self, FieldError> {
        FORMAT.read::<RawSidecar>(text).and_then(|raw| raw.resolve(most_memory))
    }
}

impl Default for Sidecar {
    fn default() -> Self {
        let (module, digest, config) = (None, None, PolicyConfig::default());
        let (weighted, has_timeout, stdio, facts, cel) = (false, false, None, Vec::new(), None);
        Self { module, digest, config, settings: Arc::from("null"), weighted, has_timeout, stdio, facts, cel }
    }
}

// === impl RawSidecar ===

impl RawSidecar {
    /// Checks every value and fills in the defaults.
    fn resolve(self, most_memory: usize) -> Result<Sidecar, FieldError> {
        if self.cel.is_some() {
            self.refuse_keys_of_modules()?;
        }
        let default = PolicyConfig::default();
        let has_timeout = self.timeout.is_some();
        let mode = resolve_word(self.mode, "mode", &Mode::ALL, Mode::as_str)?;
        let absent = resolve_word(self.absent, "absent", &AbsentFacts::ALL, AbsentFacts::as_str)?;
        let config = PolicyConfig {
            mode: mode.unwrap_or(default.mode),
            order: self.order.unwrap_or(default.order),
            weight: self.weight.unwrap_or(default.weight),
            on_error: resolve_word(self.on_error, "onError", &OnError::ALL, OnError::as_str)?,
            absent_facts: absent.unwrap_or(default.absent_facts),
            timeout: self.timeout.map_or(Ok(default.timeout), |text| resolve_timeout(&text))?,
            memory: self.memory.map_or(Ok(default.memory), |text| resolve_memory(&text, most_memory))?,
            matches: self.matches.map_or(Ok(default.matches), |raw| raw.resolve("match"))?,
            counts: self.counts.unwrap_or(default.counts),
            places: resolve_word(self.places, "places", &PlaceMode::ALL, PlaceMode::as_str)?.unwrap_or(default.places),
        };
        Ok(Sidecar {
            module: self.module.map(|text| resolve_module(&text)).transpose()?,
            digest: self.digest.map(|text| resolve_digest(&text)).transpose()?,
            config,
            settings: resolve_settings(&self.settings.unwrap_or_default())?,
            weighted: self.weight.is_some(),
            has_timeout,
            stdio: self.stdio.map(|stdio| stdio.value.resolve()).transpose()?,
            facts: resolve_facts(&self.facts.unwrap_or_default())?,
            cel: self.cel.as_ref().map(RawCel::resolve).transpose()?,
        })
    }

    /// Refuses keys that say something about a module.
    fn refuse_keys_of_modules(&self) -> Result<(), FieldError> {
        let place = |text: &Spanned<String>| text.referenced;
        let places = [
            ("module", self.module.as_ref().map(place)),
            ("digest", self.digest.as_ref().map(place)),
            ("stdio", self.stdio.as_ref().map(|stdio| stdio.referenced)),
        ];
        let found = places.into_iter().find_map(|(key, place)| Some((key, place?)));
        found.map_or(Ok(()), |(key, place)| {
            Err(FieldError::at(key, place, "this key is for a module, and the rule is in `cel`"))
        })
    }
}

// === impl RawStdio ===

impl RawStdio {
    fn resolve(self) -> Result<Verbs, FieldError> {
        let Some(verbs) = self.verbs else { return Ok(PROGRAM_VERBS) };
        if verbs.value.is_empty() {
            let text = "an empty list: expected at least one of filter and prioritize; without the key it is filter";
            return Err(FieldError::at("stdio.verbs", verbs.referenced, text));
        }
        // A program scores all nodes at once, which is the verb rank.
        let verb = |verb| match verb {
            RawStdioVerb::Filter => Verb::Filter,
            RawStdioVerb::Prioritize => Verb::Rank,
        };
        Ok(verbs.value.into_iter().map(verb).collect())
    }
}

// === impl RawMatch ===

impl RawMatch {
    fn resolve(self, path: &str) -> Result<Match, FieldError> {
        let list = |names: Option<Spanned<Vec<_>>>, key: &str, is_name, expected| {
            names.map(|names| resolve_names(names, &format!("{path}.{key}"), is_name, expected)).transpose()
        };
        let select = |selector: Option<RawSelector>, key: &str| {
            selector.map(|selector| selector.resolve(&format!("{path}.{key}"))).transpose()
        };
        let exclude = self.exclude.map(|exclude| resolve_exclude(*exclude, &format!("{path}.exclude"))).transpose()?;
        Ok(Match {
            namespaces: list(self.namespaces, "namespaces", is_namespace, NAMESPACE)?,
            namespace_selector: select(self.namespace_selector, "namespaceSelector")?,
            scheduler_names: list(self.scheduler_names, "schedulerNames", is_filled, "expected a name without spaces")?,
            pod_selector: select(self.pod_selector, "podSelector")?,
            resources: list(self.resources, "resources", is_qualified, QUALIFIED)?,
            exclude: exclude.map(Box::new),
        })
    }
}

fn resolve_exclude(exclude: Spanned<RawMatch>, path: &str) -> Result<Match, FieldError> {
    let at = exclude.referenced;
    let resolved = exclude.value.resolve(path)?;
    if resolved == Match::default() {
        return Err(FieldError::at(path, at, "it leaves every pod out: expected at least one part"));
    }
    Ok(resolved)
}

// === impl RawSelector ===

impl RawSelector {
    fn resolve(self, path: &str) -> Result<Vec<Requirement>, FieldError> {
        let mut requirements = Vec::new();
        for (key, value) in self.match_labels {
            let key = Spanned::new(key, value.referenced, value.defined);
            check(&key, &format!("{path}.matchLabels"), is_qualified, QUALIFIED)?;
            check(&value, &format!("{path}.matchLabels.{}", key.value), is_label_value, LABEL_VALUE)?;
            let (key, values) = (key.value.into(), vec![value.value.into()]);
            requirements.push(Requirement { key, operator: Operator::In, values });
        }
        for (index, requirement) in self.match_expressions.into_iter().enumerate() {
            let field = format!("{path}.matchExpressions[{index}]");
            let at = position(requirement.referenced);
            requirements.push(requirement.value.resolve(at, &field)?);
        }
        Ok(requirements)
    }
}

// === impl RawRequirement ===

impl RawRequirement {
    fn resolve(self, at: Option<(u64, u64)>, field: &str) -> Result<Requirement, FieldError> {
        check(&self.key, &format!("{field}.key"), is_qualified, QUALIFIED)?;
        self.values
            .iter()
            .try_for_each(|value| check(value, &format!("{field}.values"), is_label_value, LABEL_VALUE))?;
        let takes_values = matches!(self.operator, RawOperator::In | RawOperator::NotIn);
        if takes_values == self.values.is_empty() {
            let expected = if takes_values { "at least one" } else { "none" };
            let found = if takes_values { "no values" } else { "values" };
            let text = format!("{:?} with {found}: expected {expected}", self.operator);
            let at = self.values.first().and_then(|value| position(value.referenced)).or(at);
            return Err(FieldError { position: at, field: format!("{field}.values"), text });
        }
        let operator = match self.operator {
            RawOperator::In => Operator::In,
            RawOperator::NotIn => Operator::NotIn,
            RawOperator::Exists => Operator::Exists,
            RawOperator::DoesNotExist => Operator::DoesNotExist,
        };
        let values = self.values.into_iter().map(|value| value.value.into()).collect();
        Ok(Requirement { key: self.key.value.into(), operator, values })
    }
}

/// One of a few words of `core`.
fn resolve_word<T: Copy>(
    word: Option<Spanned<String>>,
    field: &str,
    all: &[T],
    name: fn(T) -> &'static str,
) -> Result<Option<T>, FieldError> {
    let Some(word) = word else { return Ok(None) };
    let expected = || all.iter().map(|word| name(*word)).collect::<Vec<_>>().join(", ");
    let found = all.iter().copied().find(|known| name(*known) == word.value);
    found.map(Some).ok_or_else(|| wrong(&word, field, &format!("expected one of {}", expected())))
}

/// A name ends with `.csv` if it is that of a file.
fn resolve_facts(sources: &[Spanned<String>]) -> Result<Vec<FactUse>, FieldError> {
    if let Some(beyond) = sources.get(MAX_SOURCES) {
        let text = format!("{} sources: expected at most {MAX_SOURCES}", sources.len());
        return Err(FieldError::at("facts", beyond.referenced, text));
    }
    let fact = |source: &Spanned<String>| {
        let stem = source.value.strip_suffix(".csv");
        let name = stem.unwrap_or(&source.value);
        check_source_name(name).map_err(|expected| wrong(source, "facts", expected))?;
        Ok(FactUse { name: name.into(), file: stem.map(|_| source.value.as_str().into()) })
    };
    sources.iter().map(fact).collect()
}

/// Serializes the settings; expanded YAML aliases count towards the limit.
fn resolve_settings(settings: &serde_json::Value) -> Result<Arc<str>, FieldError> {
    let json = settings.to_string();
    if json.len() as u64 > MAX_BYTES {
        let text = format!("{} bytes as JSON: expected at most {MAX_BYTES}", json.len());
        return Err(FieldError { position: None, field: "settings".to_owned(), text });
    }
    Ok(Arc::from(json))
}

fn resolve_timeout(text: &Spanned<String>) -> Result<Duration, FieldError> {
    let expected = "expected a duration such as 100ms or 2s, more than 0 and at most 60s";
    let parsed = humantime::parse_duration(&text.value).ok();
    parsed
        .filter(|timeout| !timeout.is_zero() && *timeout <= MAX_TIMEOUT)
        .ok_or_else(|| wrong(text, "timeout", expected))
}

fn resolve_memory(text: &Spanned<String>, most: usize) -> Result<usize, FieldError> {
    let parsed = parse_quantity(&text.value, 1).ok().and_then(|bytes| usize::try_from(bytes).ok());
    parsed.filter(|bytes| (MIN_MEMORY..=most).contains(bytes)).ok_or_else(|| {
        let most = most >> 20;
        wrong(
            text,
            "memory",
            &format!("expected a quantity such as 64Mi, at least 64Ki and at most {most}Mi (--max-policy-memory)"),
        )
    })
}

fn resolve_digest(text: &Spanned<String>) -> Result<Box<str>, FieldError> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let is_digest = |digits: &str| digits.len() == 64 && digits.bytes().all(is_digit);
    if text.value.strip_prefix("sha256:").is_some_and(is_digest) {
        return Ok(text.value.as_str().into());
    }
    Err(wrong(text, "digest", "expected sha256: and 64 hexadecimal digits in lower case"))
}

fn resolve_module(text: &Spanned<String>) -> Result<ModulePath, FieldError> {
    let (name, in_root) = text.value.strip_prefix("../").map_or((text.value.as_str(), false), |name| (name, true));
    let stem = name.strip_suffix(".wasm").unwrap_or_default();
    if stem.is_empty() || name.starts_with('.') || name.contains(['/', '\\', '\0']) {
        let expected = "expected a .wasm file of the same directory, or ../name.wasm for one of the root";
        return Err(wrong(text, "module", expected));
    }
    Ok(ModulePath { name: name.into(), in_root })
}

fn resolve_names(
    names: Spanned<Vec<Spanned<String>>>,
    field: &str,
    is_name: fn(&str) -> bool,
    expected: &str,
) -> Result<Vec<Box<str>>, FieldError> {
    if names.value.is_empty() {
        let text = "an empty list matches no pod: expected at least one name; without the key every pod matches";
        return Err(FieldError::at(field, names.referenced, text));
    }
    let resolve = |(index, name): (usize, Spanned<String>)| {
        check(&name, &format!("{field}[{index}]"), is_name, expected)?;
        Ok(name.value.into())
    };
    names.value.into_iter().enumerate().map(resolve).collect()
}

const NAMESPACE: &str =
    "expected the name of a namespace: lower-case letters, digits and '-', at most 63; there are no wildcards";
const LABEL_VALUE: &str = "expected the value of a label: letters, digits, '-', '_' and '.', at most 63";
const QUALIFIED: &str = "expected a name as Kubernetes has them, such as team or example.com/team";

/// A value that no object can have would silently match nothing.
fn check(name: &Spanned<String>, field: &str, is_name: fn(&str) -> bool, expected: &str) -> Result<(), FieldError> {
    if is_name(&name.value) { Ok(()) } else { Err(wrong(name, field, expected)) }
}

fn is_filled(name: &str) -> bool {
    !name.is_empty() && !name.contains(char::is_whitespace)
}

fn is_namespace(name: &str) -> bool {
    !name.is_empty() && is_label_value(name) && !name.contains(|c: char| c.is_ascii_uppercase() || "_.".contains(c))
}

fn is_label_value(value: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let ends = [value.as_bytes().first(), value.as_bytes().last()];
    value.len() <= 63 && value.bytes().all(is_inner) && ends.iter().flatten().all(|byte| byte.is_ascii_alphanumeric())
}

/// The key of a label, or the name of a resource: a name, perhaps behind a domain.
fn is_qualified(text: &str) -> bool {
    let (domain, name) = text.split_once('/').map_or((None, text), |(domain, name)| (Some(domain), name));
    let is_domain = |domain: &str| domain.len() <= 253 && domain.split('.').all(is_namespace);
    !name.is_empty() && is_label_value(name) && domain.is_none_or(is_domain)
}

fn wrong(found: &Spanned<String>, field: &str, expected: &str) -> FieldError {
    FieldError::at(field, found.referenced, format!("found '{}': {expected}", quotable(&found.value)))
}

/// The JSON Schema of a sidecar, for editors and linters.
pub fn sidecar_schema() -> serde_json::Value {
    schemars::schema_for!(RawSidecar).to_value()
}

/// A quantity may be a bare number as well.
fn quantity_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "integer", "null"] })
}
