//! One policy cannot take from another what all share: over the real gateway.

use std::{fs, path::Path, thread};

use plimsoll_guests::compile;
use plimsoll_harness::{Plimsoll, tempdir, wait_until};
use serde_json::{Value, json};

/// A guest that must be asked each time, since it reads how many nodes there are; then it does this.
fn asked_each_time(body: &str) -> Vec<u8> {
    let wat = format!(
        r#"(module
          (import "plimsoll:policy/nodes@0.1.0" "count" (func $count (result i32)))
          (memory (export "memory") 1)
          (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
          (func (export "plimsoll:policy/filter@0.1.0#filter") (param $node i32) (result i32)
            (drop (call $count))
            {body}
            (i32.const 64)))"#
    );
    compile("each-time", &wat)
}

/// Takes this many MiB as it is asked about the first node, and touches them.
fn grows(mib: u32) -> Vec<u8> {
    let pages = mib * 16;
    asked_each_time(&format!(
        "(if (i32.gt_u (memory.size) (i32.const 1)) (then (return (i32.const 64))))
         (if (i32.eq (memory.grow (i32.const {pages})) (i32.const -1)) (then unreachable))
         (memory.fill (i32.const 65536) (i32.const 1) (i32.const {}))",
        pages << 16
    ))
}

fn put(directory: &Path, name: &str, module: &[u8], sidecar: &Value) {
    let path = directory.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path.with_extension("wasm"), module).unwrap();
    // JSON is YAML.
    fs::write(path.with_extension("yaml"), sidecar.to_string()).unwrap();
}

/// A guest that tells pods apart by their priority, and lets all of them pass.
fn by_priority() -> Vec<u8> {
    let wat = r#"(module
      (import "plimsoll:policy/pod@0.1.0" "priority" (func $priority (result i32)))
      (memory (export "memory") 1)
      (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
      (func (export "plimsoll:policy/filter@0.1.0#filter") (param $node i32) (result i32)
        (drop (call $priority))
        (i32.const 64)))"#;
    compile("by-priority", wat)
}

fn request() -> Value {
    request_of(0)
}

fn request_of(priority: u32) -> Value {
    let nodes: Vec<Value> = (0..5).map(|node| json!({"metadata": {"name": format!("n{node}")}})).collect();
    let spec = json!({"containers": [], "priority": priority});
    let pod = json!({"metadata": {"name": "p", "namespace": "default", "uid": "u"}, "spec": spec});
    json!({"Pod": pod, "Nodes": {"metadata": {}, "items": nodes}, "NodeNames": null})
}

fn serve(directory: &Path, args: &[&str]) -> Plimsoll {
    let gateway =
        Plimsoll::serve(directory, &[&["--no-compile-cache", "--request-timeout", "60s"], args].concat()).unwrap();
    let ready = || gateway.get("/readyz").ok().filter(|reply| reply.status == 200).map(drop);
    wait_until("the gateway to be ready", ready).unwrap();
    gateway
}

/// Long enough for a busy machine: the test is about the order in which calls wait.
const PATIENT: &str = "20s";

/// Many clients ask at once; each must get a decision.
fn ask_all(gateway: &Plimsoll, path: &str, clients: usize, times: usize) {
    thread::scope(|scope| {
        for _ in 0..clients {
            scope.spawn(|| {
                for _ in 0..times {
                    let reply = gateway.ask(path, &request()).unwrap();
                    let why = || gateway.wait_for_log("a fault", |line| line.to_string().contains("a policy failed"));
                    assert_eq!(reply["Error"], "", "{:?}", why());
                    assert_eq!(reply["Nodes"]["items"].as_array().map(Vec::len), Some(5));
                }
            });
        }
    });
}

/// The sum of the samples of a metric whose line has all of these.
fn metric(gateway: &Plimsoll, name: &str, having: &[&str]) -> u64 {
    let page = gateway.get("/metrics").unwrap().body;
    let lines = page.lines().filter(|line| line.starts_with(name) && having.iter().all(|text| line.contains(text)));
    lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum::<f64>() as u64
}

/// Every call of the policy was answered, and its circuit never opened.
fn was_left_alone(gateway: &Plimsoll, policy: &str) {
    let policy = format!("policy=\"{policy}\"");
    let calls = |outcome: &str| metric(gateway, "plimsoll_policy_calls_total", &[&policy, outcome]);
    assert!(calls("answered") > 0);
    assert_eq!(calls(""), calls("answered"), "{}", gateway.get("/metrics").unwrap().body);
    assert_eq!(metric(gateway, "plimsoll_policy_circuit_opened_total", &[&policy]), 0);
}

/// Kibibytes that the process has held at most, by the kernel.
fn peak_memory(gateway: &Plimsoll) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", gateway.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn a_policy_in_shadow_mode_that_loops_takes_no_permit_from_decisions() {
    let directory = tempdir().unwrap();
    let endless = asked_each_time("(loop $again (br $again))");
    for hog in ["a-hog", "b-hog"] {
        put(directory.path(), hog, &endless, &json!({"mode": "shadow", "timeout": "1s"}));
    }
    put(directory.path(), "good", &asked_each_time(""), &json!({"timeout": PATIENT}));
    let gateway = serve(directory.path(), &["--max-calls", "4"]);
    ask_all(&gateway, "/filter", 4, 10);
    was_left_alone(&gateway, "good");
    let background = || metric(&gateway, "plimsoll_guest_calls", &["background"]);
    assert!(background() <= 1, "{}", background());
    wait_until("the fault of a policy in shadow mode", || {
        (metric(&gateway, "plimsoll_policy_calls_total", &["-hog", "timeout"]) > 0).then_some(())
    })
    .unwrap();
}

#[test]
fn what_policies_answer_is_learned_while_policies_in_shadow_mode_loop() {
    let directory = tempdir().unwrap();
    let endless = asked_each_time("(loop $again (br $again))");
    put(directory.path(), "hog", &endless, &json!({"mode": "shadow", "timeout": "20s"}));
    put(directory.path(), "learner", &by_priority(), &json!({"timeout": PATIENT}));
    let gateway = serve(directory.path(), &[]);
    // More replies than may have work behind them at once: the work of each goes on for 20 s.
    let dropped = || {
        ask_all(&gateway, "/filter", 1, 1);
        (metric(&gateway, "plimsoll_shadow_dropped_total", &[]) > 0).then_some(())
    };
    wait_until("shadow policies that are not asked", dropped).unwrap();
    let evaluations = || metric(&gateway, "plimsoll_policy_evaluations_total", &["learner"]);
    let remembered = || {
        let before = evaluations();
        let reply = gateway.ask("/filter", &request_of(7)).unwrap();
        assert_eq!(reply["Error"], "");
        (evaluations() == before).then_some(())
    };
    wait_until("an answer from memory", remembered).unwrap();
}

#[test]
fn a_policy_that_loops_leaves_permits_to_those_of_other_groups() {
    let directory = tempdir().unwrap();
    let endless = asked_each_time("(loop $again (br $again))");
    put(directory.path(), "bad/hog", &endless, &json!({"timeout": "2s", "onError": "ignore"}));
    put(directory.path(), "fine/good", &asked_each_time(""), &json!({"timeout": PATIENT}));
    let gateway = serve(directory.path(), &["--max-calls", "4"]);
    thread::scope(|scope| {
        scope.spawn(|| ask_all(&gateway, "/bad/filter", 8, 1));
        let loops = || (metric(&gateway, "plimsoll_guest_calls", &["decision"]) >= 2).then_some(());
        wait_until("loops under way", loops).unwrap();
        ask_all(&gateway, "/fine/filter", 2, 20);
    });
    was_left_alone(&gateway, "fine/good");
}

#[test]
fn policies_in_shadow_mode_fill_a_quarter_of_the_memory_at_most() {
    let directory = tempdir().unwrap();
    for hog in 0..4 {
        let sidecar = json!({"mode": "shadow", "timeout": "2s", "memory": "64Mi"});
        put(directory.path(), &format!("hog-{hog}"), &grows(60), &sidecar);
    }
    put(directory.path(), "good", &asked_each_time(""), &json!({"timeout": PATIENT}));
    let gateway = serve(directory.path(), &["--guest-memory", "128Mi"]);
    ask_all(&gateway, "/filter", 1, 1);
    let before = peak_memory(&gateway);
    ask_all(&gateway, "/filter", 8, 20);
    was_left_alone(&gateway, "good");
    assert_eq!(metric(&gateway, "plimsoll_guest_memory_limit_bytes", &[]), 128 << 20);
    // 32 MiB are a quarter; of each memory up to 256 KiB stay with the process, and requests take some.
    let more = (peak_memory(&gateway) - before) >> 10;
    assert!(more < 32 + 32, "{more} MiB more");
}

#[test]
fn guests_of_decisions_stay_within_the_memory_of_all_together() {
    let directory = tempdir().unwrap();
    for at in 0..6 {
        // A call that finds the memory taken ends, and is ignored.
        let sidecar = json!({"timeout": PATIENT, "memory": "64Mi", "onError": "ignore"});
        put(directory.path(), &format!("group-{at}/large"), &grows(30), &sidecar);
    }
    let gateway = serve(directory.path(), &["--guest-memory", "100Mi", "--max-calls", "16"]);
    for at in 0..6 {
        ask_all(&gateway, &format!("/group-{at}/filter"), 1, 1);
    }
    let before = peak_memory(&gateway);
    thread::scope(|scope| {
        for at in 0..6 {
            let gateway = &gateway;
            scope.spawn(move || ask_all(gateway, &format!("/group-{at}/filter"), 4, 10));
        }
    });
    let more = (peak_memory(&gateway) - before) >> 10;
    assert!(more < 100 + 32, "{more} MiB more");
    assert!(metric(&gateway, "plimsoll_policy_calls_total", &["outcome=\"answered\""]) >= 6);
    let given_back = || (metric(&gateway, "plimsoll_guest_memory_bytes", &[]) < 60_000_000).then_some(());
    wait_until("the memory to be given back", given_back).unwrap();
}

#[test]
fn a_call_that_waits_has_its_own_time_after_that() {
    let directory = tempdir().unwrap();
    let endless = asked_each_time("(loop $again (br $again))");
    put(directory.path(), "bad/hog", &endless, &json!({"timeout": "4s", "onError": "ignore"}));
    // Less than it has to wait: the only permit is taken for longer.
    put(directory.path(), "fine/good", &asked_each_time(""), &json!({"timeout": "2s"}));
    let gateway = serve(directory.path(), &["--max-calls", "1"]);
    thread::scope(|scope| {
        scope.spawn(|| ask_all(&gateway, "/bad/filter", 1, 1));
        let loops = || (metric(&gateway, "plimsoll_guest_calls", &["decision"]) >= 1).then_some(());
        wait_until("a loop under way", loops).unwrap();
        ask_all(&gateway, "/fine/filter", 1, 1);
    });
    was_left_alone(&gateway, "fine/good");
}
