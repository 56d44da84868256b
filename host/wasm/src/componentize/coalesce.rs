//! Merges data segments that are close together.
//!
//! Go's linker writes up to 100,000 of them (wasmparser's limit), and each costs time at every instantiation.

use std::convert::Infallible;

use wasm_encoder::{
    ConstExpr, DataSection, Module,
    reencode::{Error, Reencode, utils},
};
use wasmparser::{DataKind, DataSectionReader, Operator, Parser};

use crate::contract::RefusedError;

/// Minimum number of segments for merging.
pub(super) const WORTHWHILE: u32 = 1000;

/// Segments less than this many bytes apart are merged, with zeros between them.
const GAP: usize = 64;

/// One active segment at a constant address of the first memory.
struct Segment {
    at: usize,
    bytes: Vec<u8>,
}

struct Coalescer;

/// The module with fewer data segments, of the same content.
///
/// No instruction may name a segment (the module has no data count section).
pub(super) fn coalesce(module: &[u8]) -> Result<Vec<u8>, RefusedError> {
    let mut out = Module::new();
    Coalescer.parse_core_module(&mut out, Parser::new(0), module).map_err(|error| match error {
        Error::ParseError(error) => RefusedError::of_text(error.to_string()),
        error => RefusedError::Invalid(error.to_string()),
    })?;
    Ok(out.finish())
}

/// The segments by address; `None` if one is passive, or if they overlap, where order matters.
fn segments(section: DataSectionReader<'_>) -> Result<Option<Vec<Segment>>, Error<Infallible>> {
    // The file's count is not trusted: the vector grows as segments are read.
    let mut segments = Vec::new();
    for data in section {
        let data = data?;
        let DataKind::Active { memory_index: 0, offset_expr } = data.kind else { return Ok(None) };
        let mut operators = offset_expr.get_operators_reader();
        let (Operator::I32Const { value }, Operator::End) = (operators.read()?, operators.read()?) else {
            return Ok(None);
        };
        segments.push(Segment { at: value as u32 as usize, bytes: data.data.to_vec() });
    }
    segments.sort_by_key(|segment| segment.at);
    let overlap = segments.windows(2).any(|pair| pair[0].end() > pair[1].at);
    Ok((!overlap).then_some(segments))
}

// === impl Segment ===

impl Segment {
    fn end(&self) -> usize {
        self.at + self.bytes.len()
    }
}

// === impl Coalescer ===

impl Reencode for Coalescer {
    type Error = Infallible;

    fn parse_data_section(
        &mut self,
        out: &mut DataSection,
        section: DataSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        let Some(mut segments) = segments(section.clone())? else {
            return utils::parse_data_section(self, out, section);
        };
        segments.dedup_by(|next, last| {
            let joins = next.at - last.end() < GAP;
            if joins {
                last.bytes.resize(next.at - last.at, 0);
                last.bytes.append(&mut next.bytes);
            }
            joins
        });
        for segment in segments {
            out.active(0, &ConstExpr::i32_const(segment.at as i32), segment.bytes);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use wasmparser::{Data, Payload};

    use super::*;

    /// The address and the bytes of each segment after merging.
    fn coalesced(segments: &str) -> Vec<(usize, Vec<u8>)> {
        let module = coalesce(&wat::parse_str(format!("(module (memory 1) {segments})")).unwrap()).unwrap();
        let data = Parser::new(0).parse_all(&module).find_map(|payload| match payload.unwrap() {
            Payload::DataSection(data) => Some(data),
            _ => None,
        });
        data.unwrap().into_iter().map(|data| place(&data.unwrap())).collect()
    }

    fn place(data: &Data<'_>) -> (usize, Vec<u8>) {
        let DataKind::Active { offset_expr, .. } = &data.kind else { panic!("a passive segment") };
        let Operator::I32Const { value } = offset_expr.get_operators_reader().read().unwrap() else {
            panic!("no constant address")
        };
        (value as usize, data.data.to_vec())
    }

    #[test]
    fn neighbours_are_joined_with_zeros_between() {
        let segments = r#"(data (i32.const 300) "c") (data (i32.const 100) "a") (data (i32.const 103) "b")"#;
        assert_eq!(coalesced(segments), [(100, b"a\0\0b".to_vec()), (300, b"c".to_vec())]);
    }

    #[test]
    fn overlapping_segments_keep_their_order() {
        let segments = r#"(data (i32.const 101) "xy") (data (i32.const 100) "ab")"#;
        assert_eq!(coalesced(segments), [(101, b"xy".to_vec()), (100, b"ab".to_vec())]);
    }
}
