//! Limits of the metadata that a guest gives a pod: each limit, obeyed and violated.

use std::{
    fmt::Write,
    sync::Arc,
    time::{Duration, Instant},
};

use plimsoll_core::{
    BindQuery, Binding, DecideError, Fault, FaultKind, Gateway, MAX_ANNOTATION_BYTES, MAX_ENTRIES, NoObserver,
    PolicyConfig, Roster, SystemClock,
};
use plimsoll_guests::{compile, world};

/// A guest whose `bind`, in its older form, answers with these bytes at 64; `data` lies at 2048, and from 64 KiB on there
/// is a lot of `x`.
fn bind(answer: &[u32; 3], data: &[u8]) -> Result<Binding, Fault> {
    answered("bind", answer, data)
}

/// The same of this form.
fn answered(interface: &str, answer: &[u32], data: &[u8]) -> Result<Binding, Fault> {
    let wat = format!(
        r#"(module
          (memory (export "memory") 8)
          (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
          (data (i32.const 64) "{}")
          (data (i32.const 2048) "{}")
          (func $start (memory.fill (i32.const 0x10000) (i32.const 120) (i32.const 0x60000)))
          (start $start)
          (func (export "plimsoll:policy/{interface}@0.1.0#bind") (param $node i32) (result i32) (i32.const 64)))"#,
        escaped(&answer.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>()),
        escaped(data)
    );
    let config = PolicyConfig { timeout: Duration::from_secs(3), ..PolicyConfig::default() };
    let member = world::member(&world::loader(), "guest", &compile("bind", &wat), config);
    let gateway = Gateway::new(Arc::new(SystemClock), Arc::new(NoObserver), Duration::from_secs(4));
    gateway.set_cluster(world::cluster(world::NODES));
    gateway.set_roster(Arc::new(Roster::of_root(vec![member])));
    let binds = Arc::<world::Binds>::default();
    gateway.set_binder(Arc::clone(&binds) as _);
    let (namespace, received) = ("default".into(), Instant::now());
    let query = BindQuery { namespace, name: "p".into(), uid: "p".into(), node: "n1".into(), received };
    match gateway.begin("").unwrap().bind(&query) {
        Ok(_) => Ok(binds.all().remove(0)),
        Err(DecideError::Policy { fault, .. }) => {
            assert!(binds.all().is_empty());
            Err(fault)
        }
        Err(other) => Err(Fault::new(FaultKind::Host, other.to_string())),
    }
}

/// Annotations by where their texts are: address and length of key and value.
fn annotations(all: &[[u32; 4]], texts: &[u8]) -> Result<Binding, Fault> {
    let records: Vec<u8> = all.iter().flatten().flat_map(|number| number.to_le_bytes()).collect();
    bind(&[0, 2048, all.len() as u32], &[&records, texts].concat())
}

fn escaped(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "\\{byte:02x}");
        text
    })
}

/// So many annotations `k00`, `k01` and so on, with values of one byte.
fn many(count: usize) -> Result<Binding, Fault> {
    let texts = (0..count).map(|at| format!("k{at:02}")).collect::<Vec<_>>().concat();
    let start = 2048 + 16 * count as u32;
    let records: Vec<[u32; 4]> = (0..count as u32).map(|at| [start + 3 * at, 3, 0x10000, 1]).collect();
    annotations(&records, texts.as_bytes())
}

#[test]
fn annotation_count_obeyed() {
    let binding = many(MAX_ENTRIES).unwrap();
    assert_eq!(binding.annotations.len(), 64);
    assert_eq!(&*binding.annotations["k63"], "x");
    assert_eq!(&*binding.node, "n1");
}

#[test]
fn annotation_count_violated() {
    let fault = many(MAX_ENTRIES + 1).unwrap_err();
    let expected = "65 annotations; at most 64 are allowed; it was asked about n1";
    assert_eq!((fault.kind, fault.detail.as_str()), (FaultKind::Output, expected));
}

/// One annotation of this many bytes in all.
fn sized(bytes: usize) -> Result<Binding, Fault> {
    annotations(&[[2048 + 16, 1, 0x10000, bytes as u32 - 1]], b"k")
}

#[test]
fn annotation_bytes_obeyed() {
    assert_eq!(sized(MAX_ANNOTATION_BYTES).unwrap().annotations["k"].len(), MAX_ANNOTATION_BYTES - 1);
}

#[test]
fn annotation_bytes_violated() {
    let fault = sized(MAX_ANNOTATION_BYTES + 1).unwrap_err();
    let expected = "annotations of 262145 bytes; at most 262144 are allowed; it was asked about n1";
    assert_eq!((fault.kind, fault.detail.as_str()), (FaultKind::Output, expected));
}

/// A key of this many bytes.
fn key(bytes: u32) -> Result<Binding, Fault> {
    annotations(&[[0x10000, bytes, 0x10000, 1]], b"")
}

#[test]
fn key_length_obeyed() {
    assert!(key(63).is_ok());
}

#[test]
fn key_length_violated() {
    for bytes in [0, 64] {
        let fault = key(bytes).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Output);
        assert!(fault.detail.contains("1 to 63 letters, digits"), "{fault}");
    }
}

/// A refusal of this many bytes.
fn refusal(bytes: u32) -> Fault {
    bind(&[1, 0x10000, bytes], b"").unwrap_err()
}

#[test]
fn refusal_length_obeyed() {
    assert_eq!(refusal(1024).detail, format!("guest: {}", "x".repeat(1024)));
}

#[test]
fn refusal_length_violated() {
    let fault = refusal(1025);
    assert_eq!(
        (fault.kind, fault.detail.as_str()),
        (FaultKind::Output, "a reason of 1025 bytes; at most 1024 are allowed; it was asked about n1")
    );
}

/// Labels by where their texts are, beside no annotation.
fn labels(all: &[[u32; 4]], texts: &[u8]) -> Result<Binding, Fault> {
    let records: Vec<u8> = all.iter().flatten().flat_map(|number| number.to_le_bytes()).collect();
    answered("binding", &[0, 0, 0, 2048, all.len() as u32], &[&records, texts].concat())
}

#[test]
fn label_value_obeyed() {
    let binding = labels(&[[2048 + 16, 4, 0x10000, 63]], b"rack").unwrap();
    assert_eq!((binding.annotations.len(), binding.labels["rack"].len()), (0, 63));
}

#[test]
fn label_value_violated() {
    let fault = labels(&[[2048 + 16, 4, 0x10000, 64]], b"rack").unwrap_err();
    assert_eq!(fault.kind, FaultKind::Output);
    assert!(fault.detail.contains("of the label rack: it must be empty, or 1 to 63 letters"), "{fault}");
}

#[test]
fn what_is_not_bound_is_refused_or_not_yet() {
    let not_bound = |tag: u32, bytes: u32| answered("binding", &[1, tag, 0x10000, bytes, 0], b"").unwrap_err().detail;
    assert_eq!(not_bound(0, 3), "guest: xxx");
    let not_yet = not_bound(1, 1024);
    assert!(not_yet.starts_with("guest: xxx") && not_yet.contains("not yet"), "{not_yet}");
    let too_long = "a reason of 1025 bytes; at most 1024 are allowed; it was asked about n1";
    assert_eq!([not_bound(0, 1025), not_bound(1, 1025)], [too_long; 2]);
}
