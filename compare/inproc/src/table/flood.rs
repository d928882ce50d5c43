//! New keys at the bound of the store: what they do to a limited key, to known keys, and to honest
//! new ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tidegate::{MemoryConfig, Overflow};

use crate::contender::{Contender, PacedClock, Quota, Tidegate, fill, token_bucket};
use crate::key::{key, shuffled};
use crate::measure::{Walk, median, rate};
use crate::report::{Table, Target, verdict};
use crate::settings::Settings;

const MAX_KEYS: usize = 1_000_000;
const BURST: u32 = 100;
/// How often one attacker's key among those that fit is asked before the flood: over its limit.
const OVER: u32 = BURST + 50;
/// How many honest new keys ask once, a hundredth of their limit.
const HONEST: usize = 20_000;

type Store = Tidegate<Arc<PacedClock>>;

pub(super) fn run(settings: &Settings) {
    let columns = [
        "key flood at `max_keys` = 1M, 100 at once for each key",
        "tidegate",
        "target",
        "",
    ];
    let mut table = Table::new("Key flood: `inproc flood`", &columns);
    limited(&mut table);
    throughput(&mut table, settings);
    honest(&mut table);
    table.print();
}

/// A full store of keys in use; no time passes, so none is ever back to full.
fn full() -> Store {
    let quota = Quota {
        burst: BURST,
        period: 36,
    };
    let config = MemoryConfig {
        max_keys: MAX_KEYS,
        overflow: Overflow::Shared,
        shards: None,
    };
    let store = Tidegate::paced(config, &PacedClock::new(), [token_bucket(quota)]);
    fill(&store, MAX_KEYS);
    store
}

/// Asks once for each of `n` keys that were not asked for before.
fn flood(store: &Store, from: usize, n: usize) -> usize {
    (0..n)
        .filter(|number| store.check(&key(MAX_KEYS + from + number)))
        .count()
}

fn limited(table: &mut Table) {
    let store = full();
    let (known, new) = (key(7), "newcomer".to_owned());
    let allowed = |key: &String, times: u32| (0..times).filter(|_| store.check(key)).count();
    allowed(&known, OVER);
    let mut again = 0;
    let mut newcomer = 0;
    for part in 0..100 {
        flood(&store, part * MAX_KEYS / 100, MAX_KEYS / 100);
        again += allowed(&known, 10);
        newcomer += allowed(&new, 10);
    }
    table.row([
        "requests of a known key over its limit that passed during 1M new keys".into(),
        again.to_string(),
        "0".into(),
        verdict(again == 0),
    ]);
    table.row([
        "requests of one new key that passed, of 1000 asked".into(),
        newcomer.to_string(),
        format!("<= {BURST}"),
        verdict(newcomer <= BURST as usize),
    ]);
}

/// Known keys' checks per second while another thread floods, against while it asks for known keys.
fn throughput(table: &mut Table, settings: &Settings) {
    let store = full();
    let [known, others] = [1, 2].map(|seed| shuffled(100_000, seed));
    let strangers: Vec<String> = (0..1_000_000).map(|n| key(MAX_KEYS + n)).collect();
    let ratios = (0..settings.runs).map(|_| {
        let beside = |other: &[String]| beside(&store, &known, other, settings);
        let quiet = beside(&others);
        beside(&strangers) / quiet
    });
    let ratio = median(ratios.collect());
    let what = "known keys' checks per second while another thread floods, to while it does not";
    table.row(std::iter::once(what.into()).chain(Target::AtLeast(0.5).judge(ratio)));
}

fn beside(store: &Store, known: &[String], other: &[String], settings: &Settings) -> f64 {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Relaxed: nothing else is handed over.
            for chunk in other.chunks(1024).cycle() {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                store.check_all(chunk);
            }
        });
        let rate = rate(store, &mut Walk::new(known), settings);
        done.store(true, Ordering::Relaxed);
        rate
    })
}

/// How many honest new keys pass, by how large the flood is. Only the first row has a target: what
/// fixed memory can tell apart ends somewhere, and the others show where.
fn honest(table: &mut Table) {
    let store = full();
    let mut flooded = 0;
    for (times, judged) in [(1, true), (2, false), (4, false), (8, false)] {
        flood(&store, flooded, times * MAX_KEYS - flooded);
        flooded = times * MAX_KEYS;
        let honest = (0..HONEST).filter(|number| store.check(&format!("honest:{times}:{number}")));
        let share = 100.0 * honest.count() as f64 / HONEST as f64;
        let what = format!("honest new keys that passed after {times}M new keys asked once each");
        let (target, met) = match judged {
            true => (">= 95 %".into(), verdict(share >= 95.0)),
            false => Default::default(),
        };
        table.row([what, format!("{share:.1} %"), target, met]);
    }
}
