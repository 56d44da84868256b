//! Rules in CEL have the values that Kubernetes' own environment gives them: `tests/contract/cel`, a program in Go.

use std::{
    env,
    io::Write,
    panic::{AssertUnwindSafe, catch_unwind},
    process::{Command, Stdio},
};

use plimsoll_cel::Cel;
use plimsoll_harness::{skip, workspace};
use plimsoll_policy::{
    Verdict,
    testing::{NodeBuilder, PodBuilder, World, node, pod, settings},
};
use plimsoll_random::Random;
use serde_json::{Value as Json, json};

const RULES: &str = include_str!("../../cel/rules.txt");
const FUNCTIONS: &str = include_str!("../../cel/functions.txt");

/// The moment of all worlds.
const NOW: u64 = 1_780_000_000;

/// When pods were created.
const CREATED: [(&str, u64); 3] = [
    ("2026-05-28T20:00:00Z", 1_779_998_400),
    ("2026-05-28T10:00:00Z", 1_779_962_400),
    ("2026-05-27T20:26:40Z", 1_779_913_600),
];

/// The settings of the sidecar, which rules name.
const OWN: &str = r#"{"max": 4, "share": 0.25, "tiers": ["gold", "silver"]}"#;

#[test]
fn rules_in_cel_have_the_values_that_kubernetes_gives_them() {
    let Some(mut oracle) = built() else { return };
    let seed = plimsoll_random::seed();
    let worlds = env::var("PLIMSOLL_ORACLE_NODES").map_or(200, |text| text.parse::<u64>().unwrap() / 10);
    println!("PLIMSOLL_SEED={seed} runs the same again");
    let corpora = [("rules", RULES), ("functions", FUNCTIONS)].map(|(name, text)| (name, expressions(text)));
    let all: Vec<_> = corpora.iter().flat_map(|(_, all)| all).copied().collect();
    let (policies, refused): (Vec<_>, Vec<_>) =
        all.iter().map(|expression| policy(expression)).partition(Result::is_ok);
    let policies: Vec<Cel> = policies.into_iter().flatten().collect();
    let refused: Vec<String> = refused.into_iter().filter_map(Result::err).collect();
    assert!(refused.is_empty(), "plimsoll refuses\n{}", refused.join("\n"));
    let random = &mut Random::new(seed);
    let worlds: Vec<Json> = (0..worlds).map(|_| world(random)).collect();
    let theirs = ask(&mut oracle, &all, &worlds);
    let (mut differences, mut errors) = (vec![0; all.len()], vec![0; all.len()]);
    let mut shown = Vec::new();
    for (objects, theirs) in worlds.iter().zip(&theirs) {
        let view = view(objects);
        for (index, (policy, theirs)) in policies.iter().zip(theirs.as_array().unwrap()).enumerate() {
            let own = value(&view, policy);
            errors[index] += u32::from(own.is_err());
            if own.clone().ok().as_deref() != theirs.as_str() {
                differences[index] += 1;
                if differences[index] == 1 {
                    shown.push(format!("{}\n  found    {own:?}\n  expected {theirs}\n  {objects}", all[index]));
                }
            }
        }
    }
    println!(
        "{:10} {:>11} {:>8} {:>8} {:>8} {:>11}",
        "corpus", "expressions", "objects", "values", "errors", "differences"
    );
    let mut from = 0;
    for (name, expressions) in &corpora {
        let range = from..from + expressions.len();
        from = range.end;
        let sum = |counts: &[u32]| counts[range.clone()].iter().sum::<u32>();
        let values = expressions.len() * worlds.len();
        println!(
            "{name:10} {:>11} {:>8} {values:>8} {:>8} {:>11}",
            expressions.len(),
            worlds.len(),
            sum(&errors),
            sum(&differences)
        );
    }
    assert!(shown.is_empty(), "{} expressions differ\n{}", shown.len(), shown.join("\n"));
}

fn expressions(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

/// A policy that rejects with the value of an expression as the reason.
fn policy(expression: &str) -> Result<Cel, String> {
    let rule = json!({"expression": "pod.uid == '-'", "messageExpression": format!("'=%s'.format([{expression}])")});
    let own: Json = serde_json::from_str(OWN).unwrap();
    let all = json!({"cel": {"filter": [rule]}, "settings": own, "facts": ["prices"]});
    settings(&all.to_string()).map_err(|error| format!("{expression}: {error}"))
}

/// The value of a policy's expression as a text, or the text of its fault.
fn value(view: &World, policy: &Cel) -> Result<String, String> {
    let verdict = catch_unwind(AssertUnwindSafe(|| view.filter(policy, "node-0")));
    match verdict {
        Ok(Verdict::Unschedulable(reason)) => Ok(reason.into_owned()),
        Ok(other) => panic!("{other:?}"),
        Err(fault) => Err(fault.downcast_ref::<String>().cloned().unwrap_or_default()),
    }
}

/// The program in Go.
fn built() -> Option<Command> {
    let program = workspace().join("target/oracle/cel");
    let mut go = Command::new("go");
    go.current_dir(workspace().join("tests/contract/cel")).args(["build", "-buildvcs=false", "-o"]);
    match go.arg(&program).arg(".").output() {
        Ok(output) if output.status.success() => return Some(Command::new(program)),
        Ok(output) => skip(&format!("the oracle cannot be built: {}", String::from_utf8_lossy(&output.stderr))),
        Err(error) => skip(&format!("go does not run ({error}); install Go 1.26 or newer (https://go.dev/dl)")),
    }
    None
}

/// For each world what Kubernetes says of all expressions; null for an error.
fn ask(oracle: &mut Command, expressions: &[&str], worlds: &[Json]) -> Vec<Json> {
    let mut running = oracle.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = running.stdin.take().unwrap();
    let lines = worlds.iter().map(Json::to_string);
    let lines: Vec<String> = [json!(expressions).to_string()].into_iter().chain(lines).collect();
    let writer = std::thread::spawn(move || input.write_all((lines.join("\n") + "\n").as_bytes()).unwrap());
    let output = running.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    let mut lines: Vec<Json> =
        String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.remove(0), Json::Null, "Kubernetes refuses expressions that plimsoll takes");
    assert_eq!(lines.len(), worlds.len());
    lines
}

// === worlds ===

/// The values of a random pod and node, as the program in Go takes them.
fn world(random: &mut Random) -> Json {
    let mut labels = texts(random, LABELS);
    labels["app"] = random.pick(&["web", "db", "batch"]).into();
    let placed: Vec<_> = (0..random.below(4)).map(|at| placed(random, at)).collect();
    let mut pod = json!({
        "name": random.pick(&["web-0", "db-1", "a"]), "namespace": random.pick(&["default", "prod-eu"]),
        "labels": labels, "annotations": texts(random, ANNOTATIONS), "priority": random.pick(&[0, 1, 2, 7, 10, 1000, 2_000_000_000]),
        "images": IMAGES[random.below(2) as usize..][..random.below(3).min(2) as usize],
        "requests": {"cpu": random.below(5000), "memory": random.below(1 << 34)},
    });
    if random.percent(50) {
        pod["priorityClass"] = random.pick(&["system", "app-critical", "low"]).into();
        let kind = random.pick(&["DaemonSet", "ReplicaSet", "Job"]);
        pod["controller"] = json!({"apiVersion": "apps/v1", "kind": kind, "name": "own", "uid": format!("{kind}/own")});
    }
    if random.percent(70) {
        pod["created"] = random.pick(&CREATED).1.into();
    }
    let sum = |of: &str| placed.iter().map(|pod| pod["requests"][of].as_u64().unwrap_or(0)).sum::<u64>();
    let requested = json!({"cpu": sum("cpu"), "memory": sum("memory"), "example.com/gpu": sum("example.com/gpu")});
    let allocatable =
        json!({"cpu": 1000 * random.below(64), "memory": random.below(1 << 36), "example.com/gpu": random.below(9)});
    let free: serde_json::Map<String, Json> = allocatable
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, amount)| (name.clone(), (amount.as_i64().unwrap() - requested[name].as_i64().unwrap()).into()))
        .collect();
    let taint = |key: &str| json!({"key": key, "value": "x", "effect": "NoSchedule"});
    let taints: Vec<_> = ["dedicated", "spot", "other"].into_iter().filter(|_| random.percent(30)).map(taint).collect();
    let images: Vec<_> = IMAGES.iter().filter(|_| random.percent(60)).collect();
    let images: serde_json::Map<String, Json> =
        images.into_iter().map(|image| ((*image).to_owned(), random.below(1 << 32).into())).collect();
    let node = json!({
        "name": "node-0", "labels": texts(random, NODE_LABELS), "annotations": texts(random, NODE_ANNOTATIONS),
        "conditions": texts(random, &[("Ready", &["True", "False", "Unknown"]), ("MemoryPressure", &["True", "False"])]),
        "taints": taints, "unschedulable": random.percent(20), "images": images,
        "allocatable": allocatable, "requested": requested, "free": free,
    });
    let own: Json = serde_json::from_str(OWN).unwrap();
    let prices = texts(random, &[("eu-1", &["high", "low"]), ("us-1", &["high", "low"])]);
    json!({"pod": pod, "node": node, "placed": placed, "facts": {"prices": prices}, "settings": own, "now": NOW})
}

fn placed(random: &mut Random, at: u64) -> Json {
    let mut pod = json!({
        "name": format!("p{at}"), "namespace": random.pick(&["default", "prod-eu", "kube-system"]), "labels": texts(random, LABELS),
        "annotations": {}, "priority": random.pick(&[0, 5, 1000]),
        "requests": {"cpu": random.below(4000), "memory": random.below(1 << 32), "example.com/gpu": random.below(3)},
    });
    pod["labels"]["app"] = random.pick(&["web", "db"]).into();
    if random.percent(80) {
        pod["phase"] = random.pick(&["Running", "Pending", "Unknown"]).into();
    }
    pod
}

type Texts = &'static [(&'static str, &'static [&'static str])];

/// A map in which each key is missing now and then.
fn texts(random: &mut Random, of: Texts) -> Json {
    let chosen = of.iter().filter(|_| random.percent(85)).collect::<Vec<_>>();
    chosen
        .into_iter()
        .map(|(key, values)| ((*key).to_owned(), Json::from(random.pick(values))))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

const LABELS: Texts = &[
    ("tier", &["gold", "silver", "bronze", ""]),
    ("team", &["a", "b"]),
    ("zone", &["eu-1", "us-1", ""]),
    ("data", &["personal", "public"]),
    ("licence", &["matlab", "none"]),
];
const NODE_LABELS: Texts = &[
    ("ssd", &["true", "false", "yes"]),
    ("gpu-driver", &["535.104.05", "550.54.14", "v470", "unknown", "470.0"]),
    ("topology.kubernetes.io/zone", &["eu-1", "us-1"]),
    ("weight", &["1", "20", "x", "-5", "1.5"]),
];
const NODE_ANNOTATIONS: Texts = &[
    ("owner", &["a", ""]),
    ("address", &["10.0.0.1", "127.0.0.1", "::1", "fe80::1", "none"]),
    ("gpu-memory", &["16Gi", "8Gi", "0", "x"]),
    ("until", &["2026-05-28T20:00:00Z", "2027-01-01T00:00:00+02:00", "never"]),
];
const ANNOTATIONS: Texts = &[
    ("tier", &["gold", "silver"]),
    ("driver", &["535.104.05", "v550", "470", "latest", ""]),
    ("zones", &["eu-1", "eu-1, us-1", "us-1,eu-1", ""]),
    ("gpu-memory", &["16Gi", "8G", "x", "1e10"]),
    ("max-wait", &["10m", "2h", "soon"]),
    ("a/b", &["c"]),
    ("q", QUANTITIES),
    ("q2", QUANTITIES),
    ("v", VERSIONS),
    ("v2", VERSIONS),
    (
        "ip",
        &[
            "10.0.0.1",
            "127.0.0.1",
            "0.0.0.0",
            "::",
            "::1",
            "fe80::1",
            "ff02::1",
            "ff05::2",
            "224.0.0.7",
            "239.1.1.1",
            "169.254.1.1",
            "255.255.255.255",
            "::ffff:10.0.0.1",
            "::10.0.0.1",
            "::1:2",
            "2001:DB8::1",
            "2001:db8:0:0:1:0:0:1",
            "fe80::1%eth0",
            "10.0.0.01",
            "1.2.3",
            "x",
            "",
            "1:2:3:4:5:6:7:8",
            "1::",
            "0:0:1::",
        ],
    ),
    (
        "d",
        &[
            "1h",
            "90m",
            "1h30m",
            "1.5s",
            "-2m",
            "+3s",
            "100ms",
            "1us",
            "1µs",
            "7ns",
            "0",
            "",
            "1",
            "h",
            "1d",
            "1h-1m",
            ".5h",
            "1.h",
            "2562047h47m16.854775807s",
            "2562048h",
            "0.1ms",
            "1.0000000001s",
            "1e3s",
            " 1s",
        ],
    ),
    (
        "t",
        &[
            "2026-01-31T12:00:00Z",
            "2024-02-29T23:59:59.999999999Z",
            "2023-02-29T00:00:00Z",
            "1969-12-31T23:59:59Z",
            "2026-06-01T00:00:00+02:00",
            "2026-06-01T00:00:00.5-11:30",
            "0001-01-01T00:00:00Z",
            "9999-12-31T23:59:59Z",
            "9999-12-31T23:59:59-01:00",
            "2026-01-31 12:00:00Z",
            "2026-01-31t12:00:00z",
            "2026-01-31T12:00Z",
            "2026-13-01T00:00:00Z",
            "2026-01-31T24:00:00Z",
            "2026-01-31T12:00:60Z",
            "2026-01-31T12:00:00",
            "1600-03-01T00:00:00Z",
            "2026-12-31T23:30:00.123Z",
            "x",
        ],
    ),
    (
        "n",
        &[
            "0",
            "1",
            "-1",
            "42",
            "007",
            "+5",
            "1.5",
            "-0.0",
            "1e3",
            "9223372036854775807",
            "9223372036854775808",
            "-9223372036854775808",
            "18446744073709551615",
            "18446744073709551616",
            "1e19",
            "-1e19",
            "0x10",
            " 1",
            "",
            "NaN",
            "Inf",
            "-Infinity",
            "true",
            "True",
            "t",
            "F",
            "FALSE",
            "tRUE",
            "0.1",
            "123456789.123456789",
            "1e100",
            "1e-7",
            "2.5",
            "3.0",
        ],
    ),
    (
        "s",
        &[
            "",
            "a",
            "abc",
            "banana",
            "a b c",
            "  trim ",
            "\tx\n",
            "aäöü",
            "日本語",
            "a\"b\\c\n",
            "ABC xyz",
            "aaa",
            "line\nbreak",
            "e\u{301}",
            "\u{a0}x\u{a0}",
            "z",
            "%s",
            "\u{7}\u{8}",
        ],
    ),
    (
        "re",
        &[
            "a",
            "^a",
            "[a-c]+",
            "\\d+",
            "\\w+",
            "a*",
            "",
            "(",
            "b|n",
            "(?i)A",
            ".",
            "\\s",
            "x*",
            "a{2}",
            "(a)(b)?",
            "[[:alpha:]]+",
            "\\bb",
            "$",
            "n$",
        ],
    ),
];
const QUANTITIES: &[&str] = &[
    "0",
    "1",
    "-1",
    "100m",
    "1500m",
    "1000m",
    "1.5",
    "1.5Gi",
    "1Gi",
    "-2Mi",
    "8Gi",
    "16Ei",
    "8Ei",
    "9223372036854775807",
    "9223372036854775808",
    "1e3",
    "1E3",
    "1e-3",
    "1E",
    "1n",
    "0.1n",
    "1.0000000001",
    "0.0000000001",
    ".5",
    "5.",
    "1.5k",
    "2M",
    "3G",
    "1T",
    "1P",
    "1u",
    "+1",
    "1 Gi",
    "Gi",
    "",
    "x",
    "1.2.3",
    "1KiB",
    "12345678901234567890123",
    "1Ki",
    "0.5Ki",
    "1000000000000000000000n",
    "123456789012345678m",
    "1e19",
    "-0",
    "00012",
    "1e",
    "0.1",
    "3.000",
    "1024",
    "0.0001Ki",
];
const VERSIONS: &[&str] = &[
    "1.2.3",
    "v1.2.3",
    "1.2",
    "1",
    "535.104.05",
    "v01.002.3",
    "1.2.3-alpha",
    "1.2.3-alpha.1",
    "1.2.3-alpha.beta",
    "1.2.3-1",
    "1.2.3+build",
    "1.2.3-rc.1+build.5",
    "1.2.3-01",
    "1.2-rc",
    "",
    "x",
    "1.2.3.4",
    "1.2.-3",
    "1..2",
    "v",
    "1.2.3-",
    "1.2.3+",
    "18446744073709551615.0.0",
    "18446744073709551616.0.0",
    "1.2.3-a-b",
    "0.0.0",
    "00.0.0",
    " 1.2.3",
    "1.2.3-é",
    "1.02.3",
    "vv1.2.3",
    "1.2.x",
];
const IMAGES: &[&str] = &["registry.example.com/web:1", "docker.io/sidecar:latest", "quay.io/x/db:2"];

/// The world as the gateway has it.
fn view(objects: &Json) -> World {
    let strings = |map: &Json| -> Vec<(String, String)> {
        let entries = map.as_object().into_iter().flatten();
        entries.map(|(key, value)| (key.clone(), value.as_str().unwrap().to_owned())).collect()
    };
    let amount = |name: &str, value: &Json| if name == "cpu" { format!("{value}m") } else { value.to_string() };
    let pod_of = |own: &Json| -> PodBuilder {
        let mut built = pod(own["name"].as_str().unwrap()).namespace(own["namespace"].as_str().unwrap());
        built = strings(&own["labels"]).into_iter().fold(built, |pod, (key, value)| pod.label(&key, &value));
        built = strings(&own["annotations"]).into_iter().fold(built, |pod, (key, value)| pod.annotation(&key, &value));
        built = built.priority(own["priority"].as_i64().unwrap() as i32);
        for (name, value) in own["requests"].as_object().unwrap() {
            built = built.request(name, &amount(name, value));
        }
        built =
            own["images"].as_array().into_iter().flatten().fold(built, |pod, image| pod.image(image.as_str().unwrap()));
        built = own["priorityClass"].as_str().into_iter().fold(built, PodBuilder::priority_class);
        built = own["phase"].as_str().into_iter().fold(built, PodBuilder::phase);
        built = own["controller"]["kind"]
            .as_str()
            .into_iter()
            .fold(built, |pod, kind| pod.controller("apps/v1", kind, "own"));
        let created = CREATED.iter().find(|(_, seconds)| own["created"] == *seconds);
        created.into_iter().fold(built, |pod, (text, _)| pod.created(text))
    };
    let own = &objects["node"];
    let mut built: NodeBuilder = node("node-0");
    built = strings(&own["labels"]).into_iter().fold(built, |node, (key, value)| node.label(&key, &value));
    for (name, value) in own["allocatable"].as_object().unwrap() {
        built = built.allocatable(name, &amount(name, value));
    }
    built = strings(&own["conditions"]).into_iter().fold(built, |node, (kind, status)| node.condition(&kind, &status));
    built = own["taints"]
        .as_array()
        .unwrap()
        .iter()
        .fold(built, |node, taint| node.taint(taint["key"].as_str().unwrap(), "x", "NoSchedule"));
    for (image, bytes) in own["images"].as_object().unwrap() {
        built = built.image(image, bytes.as_u64().unwrap());
    }
    built = strings(&own["annotations"]).into_iter().fold(built, |node, (key, value)| node.annotation(&key, &value));
    if own["unschedulable"] == true {
        built = built.unschedulable();
    }
    let mut world = World::new(pod_of(&objects["pod"])).node(built).at(NOW).fact("prices", "nowhere", "low");
    for (key, value) in strings(&objects["facts"]["prices"]) {
        world = world.fact("prices", &key, value);
    }
    objects["placed"].as_array().unwrap().iter().fold(world, |world, placed| world.placed(pod_of(placed).on("node-0")))
}
