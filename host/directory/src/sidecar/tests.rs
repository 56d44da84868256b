use super::*;

#[test]
fn a_sidecar_with_every_key_is_read() {
    let text = "mode: shadow\ntimeout: 2s\nmemory: 32Mi\nsettings: {pool: gpu}\n";
    let sidecar = Sidecar::parse(text, 1 << 30).unwrap();
    assert_eq!(sidecar.config.memory, 32 << 20);
    assert_eq!(&*sidecar.settings, r#"{"pool":"gpu"}"#);
}
