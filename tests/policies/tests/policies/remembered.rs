//! The compiled sample policies: the answers that are remembered are the answers that they give.

use std::{
    borrow::Cow,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use plimsoll_core::{
    Cluster, Gateway, Member, NoObserver, Node, Nodes, Placed, Pod, PolicyConfig, Query, Roster, ScoreScale, Slot,
    SurveyAnswer, SystemClock, Verb, Verdict,
};
use plimsoll_harness::{policies, workspace};
use plimsoll_policies::load;
use plimsoll_random::{Random, seed};

/// Policies with settings that they accept.
const POLICIES: [(&str, &str); 5] = [
    (
        "tenant-pool",
        r#"{"label":"example.com/pool","pools":{"team-a":"team-a","team-b":"team-b"},"shared":["shared"]}"#,
    ),
    ("warm-image", r#"{"by":"images"}"#),
    ("zone-spread", r#"{"topologyKey":"topology.kubernetes.io/zone","label":"app"}"#),
    (
        "gpu-binpack",
        r#"{"memory":"example.com/gpu-mem","devices":"example.com/gpu-devices","device":"example.com/gpu-device"}"#,
    ),
    ("licence_seats", r#"{"label":"app","pool":"topology.kubernetes.io/zone","seats":{"web":10,"db":9}}"#),
];

const NODES: u64 = 40;

/// Rounds of a run that `cargo test` makes; `PLIMSOLL_SOAK_ROUNDS` asks for more.
const ROUNDS: u64 = 60;

/// Threads that ask at once.
const THREADS: u64 = 3;

fn node(rng: &mut Random, number: u64) -> Arc<Node> {
    let pool = ["team-a", "team-b", "shared", "none"][rng.below(4) as usize];
    let (zone, image) = (rng.below(3), rng.below(3));
    let devices = ["16Gi,16Gi", "24Gi", "80Gi,8Gi"][rng.below(3) as usize];
    let json = format!(
        r#"{{"metadata":{{"name":"n{number}","labels":{{"example.com/pool":"{pool}","topology.kubernetes.io/zone":"z{zone}"}},
             "annotations":{{"example.com/gpu-devices":"{devices}"}}}},
            "status":{{"allocatable":{{"cpu":"8","memory":"32Gi","example.com/gpu-mem":"32"}},
             "images":[{{"names":["app:{image}"],"sizeBytes":500000000}}]}}}}"#
    );
    Arc::new(Node::from_json(json.into()).unwrap())
}

fn placed(rng: &mut Random) -> Arc<Placed> {
    let pods = (0..rng.below(4)).map(|at| {
        let app = ["web", "db"][rng.below(2) as usize];
        let (gigabytes, device) = (1 + rng.below(4), rng.below(2));
        let json = format!(
            r#"{{"metadata":{{"name":"p{at}","uid":"p{at}","namespace":"team-a","labels":{{"app":"{app}"}},
                "annotations":{{"example.com/gpu-mem":"{gigabytes}Gi","example.com/gpu-device":"{device}"}}}},
                "spec":{{"containers":[{{"resources":{{"requests":{{"cpu":"1"}}}}}}]}}}}"#
        );
        Arc::new(Pod::placed_from_json(json.as_bytes()).unwrap())
    });
    Arc::new(Placed::new(pods.collect()))
}

fn pod(rng: &mut Random) -> Arc<Pod> {
    let namespace = ["team-a", "team-b", "team-c"][rng.below(3) as usize];
    let (image, app) = (rng.below(3), ["web", "db"][rng.below(2) as usize]);
    let gigabytes = ["4", "12", "40"][rng.below(3) as usize];
    let json = format!(
        r#"{{"metadata":{{"name":"p-{}","namespace":"{namespace}","uid":"u","labels":{{"app":"{app}"}},
            "annotations":{{"example.com/gpu-mem":"{gigabytes}Gi"}}}},
            "spec":{{"containers":[{{"image":"app:{image}","resources":{{"requests":{{"cpu":"500m"}}}}}}]}}}}"#,
        rng.below(1_000)
    );
    Arc::new(Pod::from_json(json.into()).unwrap())
}

/// A sample policy, or an example of the SDK.
fn module(name: &str) -> PathBuf {
    let sample = policies().join(format!("{name}.wasm"));
    let examples = workspace().join("target/wasm/wasm32-unknown-unknown/policy/examples");
    if sample.is_file() { sample } else { examples.join(format!("{name}.wasm")) }
}

fn gateway(module: &Path, name: &str, settings: &str) -> Gateway {
    let config = PolicyConfig { timeout: Duration::from_secs(30), ..PolicyConfig::default() };
    let member = Member { settings: settings.into(), ..Member::new("", name, config, load(module)) };
    let gateway = Gateway::new(Arc::new(SystemClock), Arc::new(NoObserver), Duration::from_mins(1));
    gateway.set_roster(Arc::new(Roster::of_root(vec![Arc::new(member)])));
    gateway
}

/// Compares what the gateway answers, which remembers, with a survey, which asks each time.
fn compare(gateway: &Gateway, pod: &Arc<Pod>, names: &[Cow<'_, str>]) {
    let query = || Query { pod: Arc::clone(pod), nodes: Nodes::Names(names), received: Instant::now(), may_bind: true };
    let survey = gateway.begin("").unwrap().survey(&query()).unwrap();
    let (filtered, after) = gateway.begin("").unwrap().dry_filter(&query()).unwrap();
    after.run();
    let (scored, after) = gateway.begin("").unwrap().prioritize(ScoreScale::Coarse, &query()).unwrap();
    after.run();
    for column in &survey.columns {
        for (at, answer) in column.answers.as_ref().unwrap().iter().enumerate() {
            match (column.verb, answer.as_ref().unwrap()) {
                (Verb::Filter, SurveyAnswer::Verdict(verdict)) => {
                    let refusal = filtered.rejected.iter().find(|rejection| rejection.node as usize == at);
                    let told = refusal.map(|refusal| (filtered.reason(*refusal).to_string(), refusal.unresolvable));
                    let name = &column.member.name;
                    let asked = match verdict {
                        Verdict::Fits => None,
                        Verdict::Unschedulable(reason) => Some((format!("{name}: {reason}"), false)),
                        Verdict::Unresolvable(reason) => Some((format!("{name}: {reason}"), true)),
                    };
                    assert_eq!(told, asked, "{name} {at}");
                }
                (_, SurveyAnswer::Score(score)) => {
                    assert_eq!(scored[at], (score + 5) / 10, "{} {at}", column.member.name);
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn a_remembered_answer_of_a_compiled_policy_is_its_answer() {
    let rounds = std::env::var("PLIMSOLL_SOAK_ROUNDS").map_or(ROUNDS, |rounds| rounds.parse().unwrap());
    for (name, settings) in POLICIES {
        let gateway = gateway(&module(name), name, settings);
        let mut rng = Random::new(seed());
        let mut slots: Vec<Slot> =
            (0..NODES).map(|number| Slot { node: node(&mut rng, number), placed: Some(placed(&mut rng)) }).collect();
        for _ in 0..rounds {
            let at = rng.below(NODES);
            slots[at as usize] = Slot { node: node(&mut rng, at), placed: Some(placed(&mut rng)) };
            gateway.set_cluster(Arc::new(Cluster::new(slots.clone())));
            thread::scope(|scope| {
                for _ in 0..THREADS {
                    let mut rng = Random::new(rng.next_u64());
                    let gateway = &gateway;
                    scope.spawn(move || {
                        let names: Vec<Cow<'_, str>> =
                            (0..NODES).filter(|_| rng.below(4) > 0).map(|number| format!("n{number}").into()).collect();
                        compare(gateway, &pod(&mut rng), &names);
                    });
                }
            });
        }
        let roster = gateway.roster();
        let member = roster.members().next().unwrap();
        assert_eq!((member.cache.disabled(Verb::Filter), member.cache.disabled(Verb::Score)), (None, None), "{name}");
    }
}
