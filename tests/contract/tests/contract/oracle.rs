//! What a policy reads is what Kubernetes' own code says of the same pods and nodes: `tests/contract/oracle`, a program in Go.
#![expect(clippy::print_stdout, reason = "the table, and the seed of a failure")]

use std::{
    collections::BTreeMap,
    env,
    hash::{BuildHasher, RandomState},
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    sync::Arc,
};

use bytes::Bytes;
use plimsoll_core::{Cluster, Node, NodeRead, PlacedRead, Pod, PodRead, Read, Selector, Value, View};
use plimsoll_harness::{skip, workspace};
use serde_json::Value as Json;

/// The versions of Kubernetes: its oldest and its newest, as pinned in these files.
const MODULES: [&str; 2] = ["go.1.34.mod", "go.mod"];

/// What the oracle says of an amount above the largest `i64`.
const TOO_LARGE: &str = "too large";

const OVERFLOWS: &str = "overflow";
const THOUSANDTHS: &str = "thousandths";
const RESIZES: &str = "resize";
/// Why a difference is accepted, by its name in the table.
const REASONS: [(&str, &str); 3] = [
    (OVERFLOWS, "above 2^63 - 1 kube-scheduler's own number is arbitrary, and plimsoll's is 2^63 - 1"),
    (THOUSANDTHS, "above 2^63 / 1000 plimsoll rounds up each container, and not the sum"),
    (
        RESIZES,
        "up to 1.36 kube-scheduler takes the maximum of each container, and plimsoll that of the pod, as 1.37 does",
    ),
];

/// The comparisons of one field with one version.
#[derive(Default)]
struct Row {
    cases: usize,
    differences: usize,
    listed: BTreeMap<&'static str, usize>,
}

#[test]
fn values_that_kubernetes_derives_are_read_as_its_own_code_computes_them() {
    let number = |name| env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let seed = number("PLIMSOLL_SEED").unwrap_or_else(|| RandomState::new().hash_one(0));
    println!("PLIMSOLL_SEED={seed} runs the same again");
    let nodes = number("PLIMSOLL_ORACLE_NODES").unwrap_or(2_000);
    let (mut rows, mut unlisted) = (BTreeMap::<(String, String), Row>::new(), Vec::new());
    for modules in MODULES {
        let Some(mut oracle) = built(modules) else { return };
        oracle.args([seed.to_string(), nodes.to_string()]).stdout(Stdio::piped());
        let mut running = oracle.spawn().unwrap();
        let mut lines = BufReader::new(running.stdout.take().unwrap()).lines();
        let version: String = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        let is_newest = modules == "go.mod";
        for line in lines {
            let line: Json = serde_json::from_str(&line.unwrap()).unwrap();
            // An older API server drops the fields that it does not know.
            for form in if is_newest { &["written", "stored"][..] } else { &["stored"] } {
                let view = view_of(&line[form]);
                for read in line["reads"].as_array().unwrap() {
                    let [field, of, name, expected] =
                        ["Field", "Of", "Name", "Value"].map(|key| read[key].as_str().unwrap());
                    let row = rows.entry((field.to_owned(), version.clone())).or_default();
                    row.cases += 1;
                    let own = answer(&view, field, of, name);
                    if own == expected {
                        continue;
                    }
                    if let Some(reason) = reason(&version, field, expected, &own) {
                        *row.listed.entry(reason).or_default() += 1;
                        continue;
                    }
                    row.differences += 1;
                    let (read, objects) = (format!("{version} {field} {of} {name}"), &line[form]);
                    unlisted.push(format!("{read}: {own}, expected {expected}: {objects}"));
                }
            }
        }
        assert!(running.wait().unwrap().success());
    }
    print_table(&rows);
    assert!(
        unlisted.is_empty(),
        "{} differences, such as\n{}",
        unlisted.len(),
        unlisted[..unlisted.len().min(5)].join("\n")
    );
}

#[test]
fn the_keys_of_written_objects_are_those_of_the_newest_kubernetes() {
    let Some(mut oracle) = built("go.mod") else { return };
    let fields = workspace().join("host/core/src/model/object/fields.txt");
    let own = std::fs::read_to_string(&fields).unwrap();
    let printed = oracle.arg("fields").output().unwrap().stdout;
    let command = "(cd tests/contract/oracle && go run . fields) >";
    assert_eq!(own, String::from_utf8(printed).unwrap(), "write it: {command} {}", fields.display());
}

/// The program over one version of Kubernetes.
fn built(modules: &str) -> Option<Command> {
    let program = workspace().join("target/oracle").join(modules);
    let mut go = Command::new("go");
    go.current_dir(workspace().join("tests/contract/oracle")).args([
        "build",
        "-buildvcs=false",
        "-modfile",
        modules,
        "-o",
    ]);
    match go.arg(&program).arg(".").output() {
        Ok(output) if output.status.success() => return Some(Command::new(program)),
        Ok(output) => skip(&format!("the oracle cannot be built: {}", String::from_utf8_lossy(&output.stderr))),
        Err(error) => skip(&format!("go does not run ({error}); install Go 1.26 or newer (https://go.dev/dl)")),
    }
    None
}

fn view_of(objects: &Json) -> View {
    let bytes = |object: &Json| Bytes::from(object.to_string());
    let placed = |pod: &Json| Pod::placed_from_json(&bytes(pod)).unwrap();
    let placed = objects["placed"].as_array().into_iter().flatten().map(placed).collect();
    let cluster = Cluster::from_objects(vec![Node::from_json(bytes(&objects["node"])).unwrap()], placed);
    let pod = Pod::from_json(bytes(&objects["pod"])).unwrap();
    View::new(Arc::new(pod), Arc::new(cluster), Arc::from([0]), 0)
}

/// The answer to a read of the contract; `of` names the placed pod.
fn answer(view: &View, field: &str, of: &str, name: &str) -> String {
    let is_it = |pod: &u32| view.read(Read::Placed(0, *pod, PlacedRead::Name)) == Ok(Value::Text(of.into()));
    let placed = |read| Read::Placed(0, (0..view.placed_count(0) as u32).find(is_it).unwrap(), read);
    let read = match field.trim_end_matches(" while resized") {
        "pod.priority" => Read::Pod(PodRead::Priority),
        "pod.controller" => Read::Pod(PodRead::Controller),
        "pod.created" => Read::Pod(PodRead::Created),
        "pod.request" => Read::Pod(PodRead::Request(name)),
        "pod.images" => Read::Pod(PodRead::Images),
        "nodes.image-size" => Read::Node(0, NodeRead::ImageSize(name)),
        "nodes.allocatable" => Read::Node(0, NodeRead::Allocatable(name)),
        "nodes.capacity" => Read::Node(0, NodeRead::Capacity(name)),
        "nodes.requested" => Read::Node(0, NodeRead::Requested(name)),
        "cluster.requested" => Read::ClusterRequested { selector: Selector::all(), name },
        "placed.count" => Read::PlacedCount(0),
        "placed.priority" => placed(PlacedRead::Priority),
        "placed.controller" => placed(PlacedRead::Controller),
        "placed.created" => placed(PlacedRead::Created),
        "placed.request" => placed(PlacedRead::Request(name)),
        _ => panic!("{field} is no read of this test"),
    };
    match view.read(read).unwrap() {
        Value::Absent => "none".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::Texts(texts) => texts.join(" "),
        Value::Owner(owner) => owner.to_string(),
        value => format!("{value:?}"),
    }
}

/// The name of the reason why a difference is accepted.
fn reason(version: &str, field: &str, expected: &str, own: &str) -> Option<&'static str> {
    let numbers = expected.parse::<i64>().ok().zip(own.parse::<i64>().ok());
    let is_rounded = |(expected, own): (i64, i64)| expected > i64::MAX / 1000 && (1..=30).contains(&(own - expected));
    match expected {
        TOO_LARGE if own == i64::MAX.to_string() => Some(OVERFLOWS),
        _ if version.starts_with("1.34.") && field.ends_with(" while resized") => Some(RESIZES),
        _ if field.contains(".request") && numbers.is_some_and(is_rounded) => Some(THOUSANDTHS),
        _ => None,
    }
}

fn print_table(rows: &BTreeMap<(String, String), Row>) {
    println!("{:32} {:10} {:>8} {:>11}  listed", "field", "Kubernetes", "cases", "differences");
    for ((field, version), Row { cases, differences, listed }) in rows {
        let listed: Vec<_> = listed.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
        println!("{field:32} {version:10} {cases:8} {differences:11}  {}", listed.join(", "));
    }
    for (name, reason) in REASONS {
        println!("{name}: {reason}");
    }
}
