//! Rejects types and components that are nested too deeply, without recursion.
//!
//! wasmparser and wasmtime recurse per level and check the depth afterwards. The gateway survives a crash of the
//! compile process, but "its stack overflowed" tells an author less than this check does.

use wasmparser::{
    BinaryReader, BinaryReaderError, ComponentAlias, ComponentExternName, ComponentImport, ComponentType,
    ComponentTypeRef, CoreType, FromReader, Parser, Payload,
};

use crate::contract::RefusedError;

/// Maximum nesting; wasmparser has the same limit.
pub(crate) const MAX_DEPTH: usize = 100;

/// A list with entries that are still to be read.
struct TypeLevel {
    left: u32,
    entries: EntryKind,
}

/// The entries of a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EntryKind {
    /// Types, as in a section.
    Types,
    /// Declarations of an instance type.
    Instance,
    /// Declarations of a component type, which may be imports as well.
    Component,
}

/// Why a scan ended early.
enum ScanEnd {
    TooDeep(&'static str),
    /// Malformed input, which wasmparser will report in more detail.
    Malformed,
}

/// Scans a core module or a component, and the worlds that a core module carries.
///
/// # Errors
/// If something is nested deeper than [`MAX_DEPTH`].
pub(super) fn check(module: &[u8]) -> Result<(), RefusedError> {
    match sections(module, true) {
        Err(ScanEnd::TooDeep(which)) => Err(RefusedError::Nested { which, at_most: MAX_DEPTH }),
        Err(ScanEnd::Malformed) | Ok(()) => Ok(()),
    }
}

fn sections(module: &[u8], worlds: bool) -> Result<(), ScanEnd> {
    let mut depth = 0_usize;
    for payload in Parser::new(0).parse_all(module) {
        match payload? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentTypeSection(section) => {
                let bytes = module.get(section.range()).ok_or(ScanEnd::Malformed)?;
                types(BinaryReader::new(bytes, 0))?;
            }
            Payload::CustomSection(section) if worlds && section.name().starts_with("component-type") => {
                // A malformed world must not end the scan of the sections after it.
                if let Err(stop @ ScanEnd::TooDeep(_)) = sections(section.data(), false) {
                    return Err(stop);
                }
            }
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Err(ScanEnd::TooDeep("components"));
        }
    }
    Ok(())
}

/// Reads all types of a section, with an explicit stack of open levels.
fn types(mut reader: BinaryReader<'_>) -> Result<(), ScanEnd> {
    let mut open = vec![TypeLevel { left: reader.read_var_u32()?, entries: EntryKind::Types }];
    while let Some(level) = open.last_mut() {
        let Some(left) = level.left.checked_sub(1) else {
            open.pop();
            continue;
        };
        level.left = left;
        let is_type = level.entries == EntryKind::Types || declares_type(&mut reader, level.entries)?;
        if !is_type {
            continue;
        }
        let entries = match peek(&reader)? {
            0x41 => EntryKind::Component,
            0x42 => EntryKind::Instance,
            _ => {
                reader.read::<ComponentType<'_>>()?;
                continue;
            }
        };
        reader.read_u8()?;
        open.push(TypeLevel { left: reader.read_var_u32()?, entries });
        if open.len() > MAX_DEPTH {
            return Err(ScanEnd::TooDeep("component types"));
        }
    }
    Ok(())
}

/// Reads one declaration; if it declares a type, only up to the type.
fn declares_type(reader: &mut BinaryReader<'_>, entries: EntryKind) -> Result<bool, ScanEnd> {
    match reader.read_u8()? {
        0x00 => skip::<CoreType<'_>>(reader)?,
        0x01 => return Ok(true),
        0x02 => skip::<ComponentAlias<'_>>(reader)?,
        0x03 if entries == EntryKind::Component => skip::<ComponentImport<'_>>(reader)?,
        0x04 => {
            skip::<ComponentExternName<'_>>(reader)?;
            skip::<ComponentTypeRef>(reader)?;
        }
        _ => return Err(ScanEnd::Malformed),
    }
    Ok(false)
}

fn skip<'a, T: FromReader<'a>>(reader: &mut BinaryReader<'a>) -> Result<(), ScanEnd> {
    reader.read::<T>()?;
    Ok(())
}

fn peek(reader: &BinaryReader<'_>) -> Result<u8, ScanEnd> {
    Ok(reader.clone().read_u8()?)
}

// === impl ScanEnd ===

impl From<BinaryReaderError> for ScanEnd {
    fn from(_: BinaryReaderError) -> Self {
        Self::Malformed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A component with one type of this many nested component types.
    fn nested_types(levels: usize) -> Vec<u8> {
        let mut types = [0x41, 1, 1].repeat(levels - 1);
        types.extend([0x41, 0]);
        let mut module = b"\0asm\x0d\0\x01\0\x07".to_vec();
        module.extend(leb(types.len() + 1));
        module.push(1);
        module.extend(types);
        module
    }

    fn leb(mut number: usize) -> Vec<u8> {
        let mut bytes = vec![];
        while number > 0x7f {
            bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
        bytes
    }

    #[test]
    fn types_are_counted_to_the_deepest() {
        check(&nested_types(MAX_DEPTH - 1)).unwrap();
        let error = check(&nested_types(MAX_DEPTH)).unwrap_err().to_string();
        assert_eq!(error, "its component types are nested deeper than 100");
    }

    #[test]
    fn every_declaration_is_read_past() {
        let declarations = "(core type (module)) (type (instance (export \"a\" (func)))) (alias outer 0 0 (type))
            (export \"e\" (func)) (import \"i\" (func)) (type (func (param \"p\" u8))) (type (record (field \"f\" u8)))";
        let (open, close) = (format!("(type (component {declarations} ").repeat(20), "))".repeat(20));
        let module = wat::parse_str(format!("(component (type (func)) {open}{close})")).unwrap();
        // A misread declaration would end the scan early.
        assert!(sections(&module, true).is_ok());
    }

    #[test]
    fn components_are_counted_to_the_deepest() {
        let deep = |levels: usize| {
            (0..levels).fold(b"\0asm\x0d\0\x01\0".to_vec(), |inner, _| {
                [&b"\0asm\x0d\0\x01\0\x04"[..], &leb(inner.len()), &inner].concat()
            })
        };
        check(&deep(MAX_DEPTH)).unwrap();
        let error = check(&deep(MAX_DEPTH + 1)).unwrap_err().to_string();
        assert_eq!(error, "its components are nested deeper than 100");
    }

    #[test]
    fn siblings_are_not_depth() {
        let many = "(type (component)) (component)".repeat(10 * MAX_DEPTH);
        check(&wat::parse_str(format!("(component {many})")).unwrap()).unwrap();
    }
}
