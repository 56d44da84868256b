//! A node without the fields that every heartbeat changes, and those that depend on the sender.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;

/// The treatment of a value.
enum Rule {
    Drop,
    Each(&'static Rule),
    Members(&'static [(&'static str, Rule)]),
}

/// kubelet writes `lastHeartbeatTime` every five minutes, with a new version and new managed fields. Lists of
/// the API server leave out kind and apiVersion, its watches do not.
const NODE: Rule = Rule::Members(&[
    ("kind", Rule::Drop),
    ("apiVersion", Rule::Drop),
    ("metadata", Rule::Members(&[("managedFields", Rule::Drop), ("resourceVersion", Rule::Drop)])),
    ("status", Rule::Members(&[("conditions", Rule::Each(&Rule::Members(&[("lastHeartbeatTime", Rule::Drop)])))])),
]);

/// The text of a Node without the fields that a heartbeat changes; all else stays as it is, in its order.
pub(super) fn steady(node: &str) -> serde_json::Result<String> {
    let mut text = String::with_capacity(node.len());
    write(node.trim_ascii(), &NODE, &mut text)?;
    Ok(text)
}

/// Whether something at the pointer, or below it, may be left out of the steady text.
pub(super) fn may_differ(pointer: &str) -> bool {
    matches!(pointer, "" | "/metadata" | "/status")
        || ["/kind", "/apiVersion", "/metadata/managedFields", "/metadata/resourceVersion", "/status/conditions"]
            .iter()
            .any(|path| pointer.starts_with(path))
}

fn write(json: &str, rule: &Rule, text: &mut String) -> serde_json::Result<()> {
    match rule {
        Rule::Members(rules) if json.starts_with('{') => write_members(json, rules, text),
        Rule::Each(rule) if json.starts_with('[') => write_elements(json, rule, text),
        // Not of the shape that the API gives it, so there is nothing to take out.
        _ => {
            text.push_str(json);
            Ok(())
        }
    }
}

fn write_members(json: &str, rules: &[(&str, Rule)], text: &mut String) -> serde_json::Result<()> {
    let Members(members) = serde_json::from_str(json)?;
    text.push('{');
    for (key, value) in members {
        let rule = rules.iter().find(|(name, _)| *name == key).map(|(_, rule)| rule);
        if matches!(rule, Some(Rule::Drop)) {
            continue;
        }
        separate(text, '{');
        text.push_str(&serde_json::to_string(&key)?);
        text.push(':');
        match rule {
            Some(rule) => write(value.get(), rule, text)?,
            None => text.push_str(value.get()),
        }
    }
    text.push('}');
    Ok(())
}

fn write_elements(json: &str, rule: &Rule, text: &mut String) -> serde_json::Result<()> {
    text.push('[');
    for element in serde_json::from_str::<Vec<&RawValue>>(json)? {
        separate(text, '[');
        write(element.get(), rule, text)?;
    }
    text.push(']');
    Ok(())
}

/// Writes a comma between two elements.
fn separate(text: &mut String, open: char) {
    if !text.ends_with(open) {
        text.push(',');
    }
}

/// The members of an object, in their order.
struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;

        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::with_capacity(16);
                while let Some((super::entries::Text(key), value)) = map.next_entry()? {
                    members.push((key, value));
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(MembersVisitor)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn only_what_a_heartbeat_changes_and_the_kind_are_left_out() {
        let node = r#" {"kind":"Node","metadata":{"name":"n","resourceVersion":"7","managedFields":[{"x":"}"}],"a\"b":1.50},
            "status":{"conditions":[{"lastHeartbeatTime":"t","type":"Ready"},{"lastHeartbeatTime":"t"},null],"resourceVersion":"stays"}}"#;
        let expected = r#"{"metadata":{"name":"n","a\"b":1.50},"status":{"conditions":[{"type":"Ready"},{},null],"resourceVersion":"stays"}}"#;
        assert_eq!(steady(node).unwrap(), expected);
        assert_eq!(steady(expected).unwrap(), expected);
    }

    #[test]
    fn other_shapes_stay_as_they_are() {
        for node in [r#"{"metadata":null,"status":{"conditions":{"lastHeartbeatTime":1}}}"#, "{}", "[1]", "null"] {
            assert_eq!(steady(node).unwrap(), node);
        }
    }

    proptest! {
        /// A pointer of which `may_differ` says no finds the same in both texts.
        #[test]
        fn what_may_not_differ_does_not(
            depth in 0usize..4,
            steps in proptest::collection::vec(proptest::sample::select(
                &["metadata", "status", "conditions", "0", "lastHeartbeatTime", "managedFields", "resourceVersion", "name", "kind"][..],
            ), 4),
        ) {
            let node = json!({
                "metadata": {"name": "n", "resourceVersion": "7", "managedFields": [{"name": 1}], "kind": {"status": 1}},
                "kind": "Node", "apiVersion": "v1",
                "status": {"conditions": [{"type": "Ready", "lastHeartbeatTime": "t"}], "name": {"conditions": 2}},
                "conditions": [{"lastHeartbeatTime": "stays"}],
            });
            let kept: Value = serde_json::from_str(&steady(&node.to_string()).unwrap()).unwrap();
            let pointer: String = steps[..depth].iter().flat_map(|step| ["/", step]).collect();
            if !may_differ(&pointer) {
                prop_assert_eq!(node.pointer(&pointer), kept.pointer(&pointer));
            }
        }
    }
}
