//! Bar charts of a run, written as SVG by hand.

use std::{fmt::Write as _, fs, path::Path};

use anyhow::Result;

use crate::report::{Both, Report};

const SERVERS: [(&str, &str); 3] = [("plimsoll", "#1f6feb"), ("go", "#d29922"), ("echo", "#8b949e")];

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 340.0;

// Room around the bars: for what stands at the axes, and for the title.
const LEFT: f64 = 64.0;
const TOP: f64 = 56.0;
const BOTTOM: f64 = 40.0;

/// Bars that stand together.
struct Cluster {
    label: String,
    /// By server; none where it was not measured.
    millis: [Option<f64>; 3],
}

/// Writes every chart for which there are figures into the directory.
pub(crate) fn draw(report: &Report, directory: &Path) -> Result<()> {
    fs::create_dir_all(directory)?;
    let steady = Both { work: "steady", mode: "names", nodes: 5_000, policies: 10 };
    let sizes = |mode, nodes: &[usize]| -> Vec<(String, Both)> {
        nodes.iter().map(|nodes| (format!("{nodes} nodes"), Both { mode, nodes: *nodes, ..steady })).collect()
    };
    let works = ["steady", "changed", "unseen", "ranks", "cold"].map(|work| (work.to_owned(), Both { work, ..steady }));
    let policies = [1, 10, 50].map(|policies| (format!("{policies} policies"), Both { policies, ..steady }));
    let charts = [
        ("names", "Ten policies, by name, steady", sizes("names", &[100, 500, 5_000, 15_000])),
        ("objects", "Ten policies, whole nodes of 8 kB, steady", sizes("objects", &[100, 500, 5_000, 15_000])),
        ("works", "Ten policies, 5,000 names", works.to_vec()),
        ("policies", "5,000 names, steady", policies.to_vec()),
    ];
    for (name, title, rows) in charts {
        let cluster = |(label, row): (String, Both)| Cluster {
            label,
            millis: SERVERS.map(|(server, _)| row.of(report, server).map(|us| us / 1e3)),
        };
        let clusters: Vec<Cluster> =
            rows.into_iter().map(cluster).filter(|cluster| cluster.millis[0].is_some()).collect();
        if !clusters.is_empty() {
            fs::write(directory.join(format!("{name}.svg")), chart(title, &clusters)?)?;
        }
    }
    Ok(())
}

/// filter and prioritize together in milliseconds, on a logarithmic scale.
fn chart(title: &str, clusters: &[Cluster]) -> Result<String> {
    let all = || clusters.iter().flat_map(|cluster| cluster.millis).flatten();
    let lowest = all().fold(f64::MAX, f64::min).log10().floor();
    let highest = all().fold(f64::MIN, f64::max).log10().ceil().max(lowest + 1.0);
    let (floor, room) = (HEIGHT - BOTTOM, HEIGHT - BOTTOM - TOP);
    let y = |millis: f64| floor - (millis.log10() - lowest) / (highest - lowest) * room;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"22\" font-size=\"15\">{title}</text>\n\
         <text x=\"{LEFT}\" y=\"40\" fill=\"#57606a\">filter + prioritize, sum of the medians in ms, logarithmic</text>\n"
    );
    for power in lowest as i32..=highest as i32 {
        let (at, label) = (y(10f64.powi(power)), 10f64.powi(power));
        writeln!(svg, "<line x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#d0d7de\"/>")?;
        writeln!(svg, "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>", LEFT - 8.0, at + 4.0)?;
    }
    let step = (WIDTH - LEFT) / clusters.len() as f64;
    let bar = (step * 0.25).min(48.0);
    for (number, cluster) in clusters.iter().enumerate() {
        let middle = LEFT + step * (number as f64 + 0.5);
        writeln!(
            svg,
            "<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            floor + 22.0,
            cluster.label
        )?;
        for (at, (millis, (_, colour))) in cluster.millis.iter().zip(SERVERS).enumerate() {
            let Some(millis) = millis else { continue };
            let (x, top) = (middle + (at as f64 - 1.5) * bar, y(*millis));
            let (width, height) = (bar - 3.0, floor - top);
            writeln!(
                svg,
                "<rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{colour}\"/>"
            )?;
            let middle = x + width / 2.0;
            writeln!(
                svg,
                "<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-size=\"10\">{}</text>",
                top - 3.0,
                short(*millis)
            )?;
        }
    }
    for (at, (server, colour)) in SERVERS.iter().enumerate() {
        let x = WIDTH - 220.0 + 76.0 * at as f64;
        writeln!(
            svg,
            "<rect x=\"{x}\" y=\"12\" width=\"11\" height=\"11\" fill=\"{colour}\"/><text x=\"{}\" y=\"22\">{server}</text>",
            x + 15.0
        )?;
    }
    Ok(svg + "</svg>\n")
}

/// Three digits, whatever the size.
fn short(millis: f64) -> String {
    match millis {
        _ if millis >= 100.0 => format!("{millis:.0}"),
        _ if millis >= 10.0 => format!("{millis:.1}"),
        _ => format!("{millis:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_larger_figure_has_a_taller_bar() {
        let cluster = Cluster { label: "n".to_owned(), millis: [Some(0.5), Some(50.0), None] };
        let svg = chart("t", &[cluster]).unwrap();
        let height = |colour: &str| -> f64 {
            let bar = svg
                .lines()
                .find(|line| line.starts_with("<rect x=") && line.ends_with(&format!("fill=\"{colour}\"/>")));
            bar.unwrap().split("height=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
        };
        assert!(height(SERVERS[1].1) > 2.0 * height(SERVERS[0].1), "{svg}");
        assert!(svg.contains(">50.0<") && svg.contains(">0.50<"), "{svg}");
    }
}
