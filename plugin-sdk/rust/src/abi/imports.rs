//! The functions of the host, with the names and the flattened types of the contract.
//!
//! Text goes in as pointer and length; what is larger than one number comes out through a pointer.

/// Text as the canonical ABI has it.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Text {
    pub(super) pointer: *const u8,
    pub(super) length: usize,
}

/// A list of `T`.
#[repr(C)]
pub(super) struct Items<T> {
    pub(super) pointer: *const T,
    pub(super) length: usize,
}

/// An option; `some` holds nothing where `tag` is 0.
#[repr(C)]
pub(super) struct Maybe<T> {
    pub(super) tag: u8,
    pub(super) some: T,
}

/// The record `taint`.
#[repr(C)]
pub(super) struct TaintText {
    pub(super) key: Text,
    pub(super) value: Text,
    pub(super) effect: Text,
}

/// The record `grouping`.
#[repr(C)]
pub(super) struct GroupingLists {
    pub(super) values: Items<Text>,
    pub(super) groups: Items<u32>,
}

#[link(wasm_import_module = "plimsoll:policy/pod@0.1.0")]
unsafe extern "C" {
    #[link_name = "name"]
    pub(super) fn pod_name(out: *mut Text);
    #[link_name = "namespace"]
    pub(super) fn pod_namespace(out: *mut Text);
    #[link_name = "uid"]
    pub(super) fn pod_uid(out: *mut Text);
    #[link_name = "label"]
    pub(super) fn pod_label(key: *const u8, key_length: usize, out: *mut Maybe<Text>);
    #[link_name = "annotation"]
    pub(super) fn pod_annotation(key: *const u8, key_length: usize, out: *mut Maybe<Text>);
    #[link_name = "priority"]
    pub(super) safe fn pod_priority() -> i32;
    #[link_name = "request"]
    pub(super) fn pod_request(name: *const u8, name_length: usize) -> i64;
    #[link_name = "images"]
    pub(super) fn pod_images(out: *mut Items<Text>);
    #[link_name = "field"]
    pub(super) fn pod_field(pointer: *const u8, pointer_length: usize, out: *mut Maybe<Text>);
}

#[link(wasm_import_module = "plimsoll:policy/nodes@0.1.0")]
unsafe extern "C" {
    #[link_name = "count"]
    pub(super) safe fn node_count() -> u32;
    #[link_name = "name"]
    pub(super) fn node_name(node: u32, out: *mut Text);
    #[link_name = "label"]
    pub(super) fn node_label(node: u32, key: *const u8, key_length: usize, out: *mut Maybe<Text>);
    #[link_name = "by-label"]
    pub(super) fn node_by_label(key: *const u8, key_length: usize, out: *mut GroupingLists);
    #[link_name = "annotation"]
    pub(super) fn node_annotation(node: u32, key: *const u8, key_length: usize, out: *mut Maybe<Text>);
    #[link_name = "taints"]
    pub(super) fn node_taints(node: u32, out: *mut Items<TaintText>);
    #[link_name = "allocatable"]
    pub(super) fn node_allocatable(node: u32, name: *const u8, name_length: usize) -> i64;
    #[link_name = "requested"]
    pub(super) fn node_requested(node: u32, name: *const u8, name_length: usize, out: *mut Maybe<i64>);
    #[link_name = "image-size"]
    pub(super) fn node_image_size(node: u32, image: *const u8, image_length: usize, out: *mut Maybe<u64>);
    #[link_name = "field"]
    pub(super) fn node_field(node: u32, pointer: *const u8, pointer_length: usize, out: *mut Maybe<Text>);
}

#[link(wasm_import_module = "plimsoll:policy/placed@0.1.0")]
unsafe extern "C" {
    #[link_name = "count"]
    pub(super) safe fn placed_count(node: u32) -> u32;
    #[link_name = "name"]
    pub(super) fn placed_name(node: u32, pod: u32, out: *mut Text);
    #[link_name = "namespace"]
    pub(super) fn placed_namespace(node: u32, pod: u32, out: *mut Text);
    #[link_name = "label"]
    pub(super) fn placed_label(node: u32, pod: u32, key: *const u8, key_length: usize, out: *mut Maybe<Text>);
    #[link_name = "annotation"]
    pub(super) fn placed_annotation(node: u32, pod: u32, key: *const u8, key_length: usize, out: *mut Maybe<Text>);
    #[link_name = "priority"]
    pub(super) safe fn placed_priority(node: u32, pod: u32) -> i32;
    #[link_name = "request"]
    pub(super) fn placed_request(node: u32, pod: u32, name: *const u8, name_length: usize) -> i64;
    #[link_name = "created"]
    pub(super) safe fn placed_created(node: u32, pod: u32) -> u64;
    #[link_name = "count-labelled"]
    pub(super) fn placed_count_labelled(
        node: u32,
        namespace: *const u8,
        namespace_length: usize,
        key: *const u8,
        key_length: usize,
        value: *const u8,
        value_length: usize,
    ) -> u32;
    #[link_name = "counts-labelled"]
    pub(super) fn placed_counts_labelled(
        namespace: *const u8,
        namespace_length: usize,
        key: *const u8,
        key_length: usize,
        value: *const u8,
        value_length: usize,
        out: *mut Items<u32>,
    );
}

#[link(wasm_import_module = "plimsoll:policy/candidates@0.1.0")]
unsafe extern "C" {
    #[link_name = "count"]
    pub(super) safe fn candidate_count() -> u32;
    #[link_name = "node"]
    pub(super) safe fn candidate_node(candidate: u32) -> u32;
    #[link_name = "victims"]
    pub(super) fn candidate_victims(candidate: u32, out: *mut Items<u32>);
    #[link_name = "pdb-violations"]
    pub(super) safe fn candidate_pdb_violations(candidate: u32) -> u32;
}

#[link(wasm_import_module = "plimsoll:policy/host@0.1.0")]
unsafe extern "C" {
    #[link_name = "settings"]
    pub(super) fn host_settings(out: *mut Text);
    #[link_name = "now"]
    pub(super) safe fn host_now(granularity: u32) -> u64;
    #[link_name = "log"]
    pub(super) fn host_log(level: u32, message: *const u8, message_length: usize);
    #[link_name = "panic"]
    pub(super) fn host_panic(message: *const u8, message_length: usize);
}
