//! A node without the fields that every heartbeat changes, and those that depend on the sender.

use serde_json::value::RawValue;

use super::members::Members;

/// The fields that are left out; `*` is each element. kubelet writes `lastHeartbeatTime` every five minutes, with a new
/// version and new managed fields. Lists of the API server leave out kind and apiVersion, its watches do not.
const LEFT_OUT: [&str; 5] = [
    "/kind",
    "/apiVersion",
    "/metadata/managedFields",
    "/metadata/resourceVersion",
    "/status/conditions/*/lastHeartbeatTime",
];

/// The text of a Node without the fields that a heartbeat changes; all else stays as it is, in its order.
pub(super) fn steady(node: &str) -> serde_json::Result<String> {
    let mut text = String::with_capacity(node.len());
    write(node.trim_ascii(), "", &mut text)?;
    Ok(text)
}

/// Whether something at the pointer, or below it, may be left out of the steady text.
pub(super) fn may_differ(pointer: &str) -> bool {
    LEFT_OUT.iter().any(|path| {
        let fixed = path.split_once("/*").map_or(*path, |(fixed, _)| fixed);
        fixed.starts_with(pointer) || pointer.starts_with(fixed)
    })
}

/// Writes the value at this path.
fn write(json: &str, path: &str, text: &mut String) -> serde_json::Result<()> {
    let is_above = |left_out: &&str| left_out.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
    if !LEFT_OUT.iter().any(is_above) {
        text.push_str(json);
    } else if json.starts_with('{') {
        let Members(members) = serde_json::from_str::<Members<'_, &RawValue>>(json)?;
        text.push('{');
        for (name, value) in members {
            let member = format!("{path}/{name}");
            if !LEFT_OUT.contains(&member.as_str()) {
                separate(text, '{');
                text.push_str(&serde_json::to_string(&name)?);
                text.push(':');
                write(value.get(), &member, text)?;
            }
        }
        text.push('}');
    } else if json.starts_with('[') {
        let element = format!("{path}/*");
        text.push('[');
        for value in serde_json::from_str::<Vec<&RawValue>>(json)? {
            separate(text, '[');
            write(value.get(), &element, text)?;
        }
        text.push(']');
    } else {
        // Not of the shape that the API gives it, so there is nothing to take out.
        text.push_str(json);
    }
    Ok(())
}

/// Writes a comma between two elements.
fn separate(text: &mut String, open: char) {
    if !text.ends_with(open) {
        text.push(',');
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
