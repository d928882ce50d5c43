//! What was admitted in the last window, over time, as SVG: a panel for each algorithm, so that lines
//! never hide each other.
//!
//! Grey text on no background, and colours of middle brightness: it reads on white and on black.

use std::fmt::Write;

use crate::play::Played;
use crate::traffic::{START, Traffic};
use crate::{MAX, WINDOW};

const WIDTH: f64 = 860.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = WIDTH - 16.0;
/// Where the first panel begins, how high each is, and what lies between them.
const TOP: f64 = 66.0;
const PANEL: f64 = 92.0;
const GAP: f64 = 30.0;
/// How much of the traffic is shown, and up to which count.
const SECONDS: f64 = 600.0;
const COUNT: f64 = 2.1 * MAX as f64;
const GREY: &str = "#808080";
const WITHIN: &str = "#3b8ed0";
const ABOVE: &str = "#e0533d";

fn x(seconds: f64) -> f64 {
    LEFT + (RIGHT - LEFT) * seconds / SECONDS
}

/// Where a count is in the panel at this place.
fn y(panel: usize, count: f64) -> f64 {
    bottom(panel) - PANEL * count.min(COUNT) / COUNT
}

fn bottom(panel: usize) -> f64 {
    TOP + PANEL + (PANEL + GAP) * panel as f64
}

/// The plot of one kind of traffic.
pub fn svg(traffic: Traffic, offered: usize, played: &[Played]) -> String {
    let height = bottom(played.len() - 1) + 46.0;
    let middle = height / 2.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\" fill=\"{GREY}\">\n\
         <title>{name}: requests admitted in the last 60 seconds, by algorithm</title>\n\
         <text x=\"{LEFT}\" y=\"18\" font-size=\"15\" font-weight=\"bold\">{name}: {what}</text>\n\
         <text x=\"{LEFT}\" y=\"36\"><tspan fill=\"{WITHIN}\">&#9632; within the limit of {MAX}</tspan>  \
         <tspan fill=\"{ABOVE}\">&#9632; above it</tspan>  - - the limit; 10 of 30 minutes, {offered} requests offered in all</text>\n\
         <text x=\"14\" y=\"{middle}\" text-anchor=\"middle\" transform=\"rotate(-90 14 {middle})\">\
         requests admitted in the last 60 s</text>\n",
        name = traffic.name(),
        what = traffic.what(),
    );
    for (panel, run) in played.iter().enumerate() {
        draw(&mut svg, panel, run);
    }
    minutes(&mut svg, bottom(played.len() - 1));
    svg + "</svg>\n"
}

/// One algorithm's panel.
fn draw(svg: &mut String, panel: usize, run: &Played) {
    let counts = counts(run);
    let within = area(panel, &counts, 0.0, MAX as f64);
    let above = area(panel, &counts, MAX as f64, COUNT);
    let _ = writeln!(
        svg,
        "<text x=\"{LEFT}\" y=\"{:.1}\"><tspan font-weight=\"bold\">{}</tspan>  at most {} in any 60 s; \
         {:.0} % of decisions as the exact log's</text>\n\
         <polygon fill=\"{WITHIN}\" fill-opacity=\"0.75\" points=\"{within}\"/>\n\
         <polygon fill=\"{ABOVE}\" points=\"{above}\"/>",
        bottom(panel) - PANEL - 4.0,
        run.name,
        run.peak,
        run.agreement,
    );
    for count in [0, MAX, 2 * MAX] {
        let (at, dash) = (
            y(panel, count as f64),
            if count == MAX { "6 3" } else { "1 4" },
        );
        let _ = writeln!(
            svg,
            "<line x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"{GREY}\" stroke-dasharray=\"{dash}\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{count}</text>",
            LEFT - 6.0,
            at + 4.0
        );
    }
}

fn minutes(svg: &mut String, bottom: f64) {
    for minute in 0..=10 {
        let at = x(60.0 * f64::from(minute));
        let _ = writeln!(
            svg,
            "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{minute}</text>",
            bottom + 18.0
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">minutes since the traffic began</text>",
        x(SECONDS / 2.0),
        bottom + 36.0
    );
}

/// What the window that ends at each second holds.
fn counts(run: &Played) -> Vec<f64> {
    let nanos = |second: u32| START.as_nanos() + u64::from(second) * 1_000_000_000;
    let counts = (0..=SECONDS as u32).map(|second| {
        let (from, to) = (
            nanos(second).saturating_sub(WINDOW.as_nanos()),
            nanos(second),
        );
        let held = |at: &&tidegate::Timestamp| (from + 1..=to).contains(&at.as_nanos());
        run.admitted.iter().filter(held).count() as f64
    });
    counts.collect()
}

/// The part of the area below the counts that lies between two counts, in steps of a second.
fn area(panel: usize, counts: &[f64], from: f64, to: f64) -> String {
    let base = format!("{:.1}", y(panel, from));
    let mut points = vec![format!("{:.1},{base}", x(0.0))];
    for (second, count) in counts.iter().enumerate() {
        let at = y(panel, count.clamp(from, to));
        points.push(format!("{:.1},{at:.1}", x(second as f64)));
    }
    points.push(format!("{:.1},{base}", x(SECONDS)));
    points.join(" ")
}
