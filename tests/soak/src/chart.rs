//! The samples as a picture: memory, descriptors and threads, latency, failures, one below the other.

use std::fmt::Write as _;

use anyhow::Result;

use crate::sampler::Sample;

const WIDTH: f64 = 1_000.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 150.0;
const PANEL: f64 = 150.0;
const GAP: f64 = 45.0;

/// Points of a line; of more samples the largest of each stretch is drawn.
const POINTS: usize = 800;

/// A line of a panel: its name, its colour, and its value.
type Line = (&'static str, &'static str, fn(&Sample) -> f64);

const PANELS: [(&str, &[Line]); 5] = [
    (
        "memory, MiB",
        &[
            ("RSS", "#0969da", |sample| sample.usage.rss_kib as f64 / 1_024.0),
            ("without files", "#cf222e", |sample| sample.usage.anon_kib as f64 / 1_024.0),
            ("stacks", "#1a7f37", |sample| sample.holdings.stacks_kib as f64 / 1_024.0),
            ("decision cache", "#57606a", |sample| sample.holdings.decision_cache_bytes as f64 / 1_048_576.0),
        ],
    ),
    (
        "descriptors, threads and child processes",
        &[
            ("descriptors", "#0969da", |sample| sample.usage.descriptors as f64),
            ("threads", "#cf222e", |sample| sample.usage.threads as f64),
            ("children", "#1a7f37", |sample| sample.usage.children as f64),
        ],
    ),
    (
        "latency of correct requests, ms",
        &[
            ("p99", "#cf222e", |sample| f64::from(sample.window.p99_us) / 1e3),
            ("p50", "#0969da", |sample| f64::from(sample.window.p50_us) / 1e3),
        ],
    ),
    ("answers to correct requests per second", &[("answers", "#0969da", |sample| sample.window.answers as f64)]),
    (
        "failures and expected refusals so far",
        &[
            ("failures", "#cf222e", |sample| sample.window.failed as f64),
            ("refusals", "#57606a", |sample| sample.window.declined as f64),
        ],
    ),
];

/// An SVG document.
pub(crate) fn draw(samples: &[Sample]) -> Result<String> {
    let height = GAP + PANELS.len() as f64 * (PANEL + GAP);
    let end = samples.last().map_or(1.0, |sample| sample.seconds).max(1.0);
    let x = |seconds: f64| LEFT + seconds / end * (WIDTH - LEFT - RIGHT);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for phase in samples.chunk_by(|a, b| a.phase == b.phase).filter(|phase| phase[0].phase != "load") {
        let (from, to) = (x(phase[0].seconds), x(phase[phase.len() - 1].seconds));
        let (width, bottom) = ((to - from).max(1.0), height - GAP);
        writeln!(svg, "<rect x=\"{from:.1}\" y=\"20\" width=\"{width:.1}\" height=\"{bottom:.1}\" fill=\"#f6f8fa\"/>")?;
        writeln!(svg, "<text x=\"{from:.1}\" y=\"16\" fill=\"#57606a\">{}</text>", phase[0].phase)?;
    }
    for (number, (title, lines)) in PANELS.iter().enumerate() {
        panel(&mut svg, GAP + number as f64 * (PANEL + GAP), title, lines, samples, x)?;
    }
    for tenth in 0..=10 {
        let minutes = end / 60.0 * f64::from(tenth) / 10.0;
        let at = x(minutes * 60.0);
        writeln!(svg, "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{minutes:.1} min</text>", height - 14.0)?;
    }
    Ok(svg + "</svg>\n")
}

fn panel(
    svg: &mut String,
    top: f64,
    title: &str,
    lines: &[Line],
    samples: &[Sample],
    x: impl Fn(f64) -> f64,
) -> Result<()> {
    let most = lines.iter().flat_map(|line| samples.iter().map(line.2)).fold(0.0, f64::max).max(1.0);
    let y = |value: f64| top + PANEL - value / most * PANEL;
    writeln!(svg, "<text x=\"{LEFT}\" y=\"{:.1}\" font-weight=\"bold\">{title}</text>", top - 6.0)?;
    for quarter in 0..=4 {
        let value = most * f64::from(quarter) / 4.0;
        let at = y(value);
        writeln!(
            svg,
            "<line x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#d0d7de\"/>",
            WIDTH - RIGHT
        )?;
        writeln!(svg, "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{value:.1}</text>", LEFT - 8.0, at + 4.0)?;
    }
    for (number, (name, colour, of)) in lines.iter().enumerate() {
        let mut points = String::new();
        for stretch in samples.chunks(samples.len().div_ceil(POINTS).max(1)) {
            let value = stretch.iter().map(of).fold(0.0, f64::max);
            write!(points, "{:.1},{:.1} ", x(stretch[0].seconds), y(value))?;
        }
        writeln!(svg, "<polyline points=\"{points}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.3\"/>")?;
        let at = top + 14.0 + 18.0 * number as f64;
        writeln!(svg, "<text x=\"{:.1}\" y=\"{at:.1}\" fill=\"{colour}\">{name}</text>", WIDTH - RIGHT + 10.0)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{process::Usage, sampler::Holdings, tally::Window};

    #[test]
    fn every_line_is_drawn_over_the_whole_time() {
        let sample = |second: u32| Sample {
            seconds: f64::from(second),
            phase: if second < 60 { "warm-up" } else { "load" },
            usage: Usage { rss_kib: 50_000 + u64::from(second), descriptors: 40, threads: 20, ..Usage::default() },
            window: Window::default(),
            holdings: Holdings::default(),
            log_lines: 0,
        };
        let samples: Vec<Sample> = (0..3_000).map(sample).collect();
        let svg = draw(&samples).unwrap();
        let lines: usize = PANELS.iter().map(|(_, lines)| lines.len()).sum();
        assert_eq!(svg.matches("<polyline").count(), lines);
        assert!(svg.contains("warm-up") && svg.contains("50.0 min") && svg.ends_with("</svg>\n"), "{svg}");
    }
}
