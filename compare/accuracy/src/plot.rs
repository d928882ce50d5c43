//! What was admitted in the last window, over time, as SVG.

use std::fmt::Write;

use crate::play::Played;
use crate::traffic::{START, Traffic};
use crate::{MAX, WINDOW};

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 48.0;
const TOP: f64 = 40.0;
/// How much of the traffic is shown, and up to which count.
const SECONDS: f64 = 600.0;
const COUNT: f64 = 2.2 * MAX as f64;
const COLOURS: [&str; 4] = ["#1f77b4", "#d62728", "#ff7f0e", "#2ca02c"];

fn x(seconds: f64) -> f64 {
    LEFT + (WIDTH - LEFT - 16.0) * seconds / SECONDS
}

fn y(count: f64) -> f64 {
    HEIGHT - 32.0 - (HEIGHT - 32.0 - TOP) * count / COUNT
}

/// The plot of one kind of traffic.
pub fn svg(traffic: Traffic, played: &[Played]) -> String {
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"16\">{}: admitted in the last 60 s, limit {MAX}</text>\n",
        traffic.name()
    );
    grid(&mut svg);
    for (place, (run, colour)) in played.iter().zip(COLOURS).enumerate() {
        let left = LEFT + 150.0 * place as f64;
        let _ = writeln!(
            svg,
            "<text x=\"{left}\" y=\"32\" fill=\"{colour}\">{} (most {})</text>",
            run.name, run.peak
        );
        let points = line(run);
        let _ = writeln!(
            svg,
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.3\" stroke-opacity=\"0.85\" points=\"{points}\"/>"
        );
    }
    svg + "</svg>\n"
}

fn grid(svg: &mut String) {
    for count in [0, MAX / 2, MAX, MAX * 3 / 2, MAX * 2] {
        let (at, dash) = (y(count as f64), if count == MAX { "6 3" } else { "1 3" });
        let right = x(SECONDS);
        let _ = writeln!(
            svg,
            "<line x1=\"{LEFT}\" x2=\"{right}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#555\" stroke-dasharray=\"{dash}\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{count}</text>",
            LEFT - 6.0,
            at + 4.0
        );
    }
    for minute in 0..=10 {
        let at = x(60.0 * f64::from(minute));
        let _ = writeln!(
            svg,
            "<text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{minute} min</text>",
            HEIGHT - 12.0
        );
    }
}

/// One point a second: what the window that ends then holds.
fn line(run: &Played) -> String {
    let nanos = |second: u32| START.as_nanos() + u64::from(second) * 1_000_000_000;
    let points = (0..=SECONDS as u32).map(|second| {
        let (from, to) = (
            nanos(second).saturating_sub(WINDOW.as_nanos()),
            nanos(second),
        );
        let held = run
            .admitted
            .iter()
            .filter(|at| (from + 1..=to).contains(&at.as_nanos()))
            .count();
        format!("{:.1},{:.1}", x(f64::from(second)), y(held as f64))
    });
    points.collect::<Vec<_>>().join(" ")
}
