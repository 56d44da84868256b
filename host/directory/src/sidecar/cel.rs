//! The key `cel` of a sidecar: a rule in place of a module.

use std::collections::BTreeMap;

use plimsoll_yaml::{FieldError, place_in};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_saphyr::{Location, Spanned};

/// Maximum bytes of a rule as JSON; aliases in YAML may make much of a small file.
const MAX_BYTES: usize = 1 << 20;

/// A rule as its interpreter gets it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CelRule {
    /// The block as JSON.
    pub(crate) block: Box<str>,
    /// The texts of the block with their places in the file, by JSON pointer.
    texts: BTreeMap<String, (Box<str>, Location)>,
}

/// A rule in CEL, in place of a module: which nodes fit the pod, and how well.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(rename = "Cel")]
pub(super) struct RawCel {
    /// Values that later expressions use by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    variables: Vec<RawVariable>,
    /// A node fits if each of these is true.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    filter: Vec<RawFilter>,
    /// The node's score, from 0 to 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    score: Option<Spanned<String>>,
    /// Whether the filter is asked again as the pod is bound, although it counts no pods. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<bool>")]
    bind: Option<Spanned<bool>>,
}

/// A value that later expressions use by name.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CelVariable")]
struct RawVariable {
    /// The name.
    #[schemars(with = "String")]
    name: Spanned<String>,
    /// The value, in CEL.
    #[schemars(with = "String")]
    expression: Spanned<String>,
}

/// A condition that a node fulfils, and the reason why one that does not is rejected.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(rename = "CelFilter")]
struct RawFilter {
    /// The condition, in CEL: true if the node fits.
    #[schemars(with = "String")]
    expression: Spanned<String>,
    /// The reason, as users read it in the pod's events.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    message: Option<Spanned<String>>,
    /// The reason, in CEL; it is a text.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    message_expression: Option<Spanned<String>>,
    /// Whether evicting pods could not make the node fit. Default: false.
    #[serde(skip_serializing_if = "Option::is_none")]
    unresolvable: Option<bool>,
}

// === impl CelRule ===

impl CelRule {
    /// An error of the interpreter about one of the texts, at a line and a column of it; `source` is the sidecar.
    pub(crate) fn error(&self, source: &str, pointer: &str, at: (u64, u64), text: &str) -> FieldError {
        let field = pointer.split('/').skip(1).fold("cel".to_owned(), |field, part| match part.parse::<usize>() {
            Ok(index) => format!("{field}[{index}]"),
            Err(_) => format!("{field}.{part}"),
        });
        // An error about a list or a record is shown at its first text.
        let mut texts = self.texts.range(pointer.to_owned()..);
        let found = texts.next().filter(|(text, _)| text.starts_with(pointer));
        let position = found.and_then(|(_, (value, start))| place_in(source, *start, value, at));
        FieldError { position, field, text: text.to_owned() }
    }
}

// === impl RawCel ===

impl RawCel {
    pub(super) fn resolve(cel: &Spanned<Self>) -> Result<CelRule, FieldError> {
        let raw = &cel.value;
        if raw.filter.is_empty() && raw.score.is_none() {
            return Err(FieldError::at("cel", cel.referenced, "it decides nothing: expected a filter or a score"));
        }
        for (index, filter) in raw.filter.iter().enumerate() {
            if let (Some(_), Some(other)) = (&filter.message, &filter.message_expression) {
                let field = format!("cel.filter[{index}].messageExpression");
                return Err(FieldError::at(
                    &field,
                    other.referenced,
                    "expected this key or message, and both are there",
                ));
            }
        }
        let failed = |text: String| FieldError::at("cel", cel.referenced, text);
        let block = serde_json::to_string(raw).map_err(|error| failed(error.to_string()))?;
        if block.len() > MAX_BYTES {
            return Err(failed(format!("{} bytes as JSON: expected at most {MAX_BYTES}", block.len())));
        }
        Ok(CelRule { block: block.into(), texts: raw.texts(cel.referenced) })
    }

    fn texts(&self, start: Location) -> BTreeMap<String, (Box<str>, Location)> {
        let mut texts = BTreeMap::from([(String::new(), (Box::default(), start))]);
        let bind = self.bind.iter().map(|bind| ("/bind".to_owned(), (Box::default(), bind.defined)));
        texts.extend(bind);
        let mut add = |pointer: String, text: &Spanned<String>| {
            texts.insert(pointer, (text.value.as_str().into(), text.defined));
        };
        for (index, RawVariable { name, expression }) in self.variables.iter().enumerate() {
            add(format!("/variables/{index}/name"), name);
            add(format!("/variables/{index}/expression"), expression);
        }
        for (index, filter) in self.filter.iter().enumerate() {
            add(format!("/filter/{index}/expression"), &filter.expression);
            filter.message.iter().for_each(|text| add(format!("/filter/{index}/message"), text));
            let message = filter.message_expression.iter();
            message.for_each(|text| add(format!("/filter/{index}/messageExpression"), text));
        }
        self.score.iter().for_each(|text| add("/score".to_owned(), text));
        texts
    }
}
