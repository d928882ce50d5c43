//! The scripts and the memory store hold one truth: the same random requests at the same times get
//! the same answers.

use std::sync::Arc;

use tidegate::{
    Algorithm, Amount, Check, Clock, Decision, Key, Limit, ManualClock, MemoryConfig, MemoryStore,
    Mode, Policy, Rate, Span, Store, Timestamp, Verdict,
};
use tidegate_redis::RedisStore;
use tidegate_testkit::RedisServer;

use crate::fixture::{DAY, config};

const STEPS: usize = 10_000;
/// The year 2096, in microseconds.
const LAST: u64 = 4_000_000_000_000_000;
/// Steps with the same keys and limits: few, so that many limits are met.
const STEPS_PER_SCENE: usize = 100;

/// A reproducible source of choices (splitmix64).
struct Choices(u64);

impl Choices {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    /// A number up to `bound`, of any order of magnitude.
    fn up_to(&mut self, bound: u64) -> u64 {
        let bits = self.below(64 - u64::from(bound.leading_zeros()) + 1);
        self.below((1 << bits.min(62)).min(bound) + 1)
    }
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Bucket,
    Fixed,
    Rolling,
    Sliding,
    Mixed,
}

/// A limit of this kind with random numbers that load.
fn limit(choices: &mut Choices, kind: Kind, name: &str) -> Limit {
    let kind = match (kind, choices.below(4)) {
        (Kind::Mixed, 0) => Kind::Bucket,
        (Kind::Mixed, 1) => Kind::Fixed,
        (Kind::Mixed, 2) => Kind::Rolling,
        (Kind::Mixed, _) => Kind::Sliding,
        (kind, _) => kind,
    };
    let limit = loop {
        let max = match choices.below(8) {
            0 => Amount::from_micros(choices.up_to((1 << 52) - 1)),
            1 => Amount::from_micros(choices.up_to(10_000_000)),
            _ => Amount::from_units(1 + choices.below(12)),
        };
        let window = match choices.below(4) {
            0 => Span::from_micros(1_000 + choices.up_to(315_359_999_000_000)),
            1 => Span::from_millis(1 + choices.below(2_000)),
            _ => Span::from_secs(1 + choices.below(100)),
        };
        let made = match kind {
            Kind::Bucket | Kind::Mixed => {
                let refill = Amount::from_micros(1 + choices.up_to(20_000_000));
                let Some(rate) = Rate::per(refill, window) else {
                    continue;
                };
                Limit::token_bucket(name, max, rate)
            }
            Kind::Fixed if choices.one_in(2) => Limit::fixed_window_from_first(name, max, window),
            Kind::Fixed => Limit::fixed_window(name, max, window),
            Kind::Rolling => Limit::rolling_window(name, max, window),
            Kind::Sliding => Limit::sliding_window(name, max, window),
        };
        if let Ok(limit) = made {
            break limit;
        }
    };
    if choices.one_in(4) {
        let interval = Span::from_micros(1_000 + choices.up_to(20_000_000));
        return limit.with_min_interval(interval).unwrap();
    }
    limit
}

fn cost(choices: &mut Choices, limit: &Limit) -> Amount {
    let max = limit.algorithm().max().as_micros();
    match choices.below(10) {
        0 => Amount::ZERO,
        1 => limit.algorithm().max(),
        2 => Amount::from_micros(max + choices.below(3)),
        3 => Amount::from_micros(choices.up_to(2 * max + 2)),
        4 => Amount::MAX,
        5 => Amount::from_micros(choices.up_to(max)),
        _ => Amount::ONE,
    }
}

/// The next time: mostly forward by a part of the window, at times a little or far backward.
fn step_time(choices: &mut Choices, now: Timestamp, algorithm: &Algorithm) -> Timestamp {
    let window = algorithm.window().as_micros_ceil().max(1);
    let next = match choices.below(16) {
        0..=2 => now,
        3 => now + Span::from_micros(1),
        4 => now - Span::from_micros(choices.up_to(1_000_001)),
        5 => now - Span::from_micros(choices.up_to(window)),
        6 if choices.one_in(4) => now - Span::from_secs(8 * 3_600),
        7 => now + Span::from_micros(choices.up_to(3 * window)),
        8 => now + algorithm.window(),
        9 => {
            Timestamp::from_micros(now.floor_to(algorithm.window()).as_micros())
                + algorithm.window()
        }
        _ => now + Span::from_micros(choices.up_to(window)),
    };
    // Both stores are exact at whole microseconds, Redis until the year 2255.
    Timestamp::from_micros(next.as_micros().min(LAST))
}

/// Two stores with one clock, and what they are asked about.
struct Scene {
    memory: MemoryStore<Arc<ManualClock>>,
    redis: RedisStore,
    clock: Arc<ManualClock>,
    policies: Vec<Policy>,
    keys: Vec<String>,
    taken_at: Timestamp,
}

impl Scene {
    fn new(
        choices: &mut Choices,
        kind: Kind,
        redis: &RedisStore,
        clock: &Arc<ManualClock>,
    ) -> Scene {
        let name = choices.next();
        let policies = (0..2).map(|place| {
            let count = 1 + choices.below(3);
            let limits =
                (0..count).map(|limit_place| limit(choices, kind, &format!("l{limit_place}")));
            Policy::new(&format!("p{place}"), limits.collect::<Vec<_>>()).unwrap()
        });
        let policies = policies.collect();
        clock.set(DAY + Span::from_micros(choices.up_to(1 << 50)));
        Scene {
            memory: MemoryStore::with_clock(MemoryConfig::default(), clock.clone()),
            redis: redis.clone(),
            clock: clock.clone(),
            policies,
            keys: (0..2).map(|place| format!("{name:x}:{place}")).collect(),
            taken_at: DAY,
        }
    }

    fn checks(&self, choices: &mut Choices) -> Vec<Check<'_>> {
        let count = if choices.one_in(3) { 2 + choices.below(3) } else { 1 };
        let checks = (0..count).map(|_| {
            let place = |choices: &mut Choices| usize::from(choices.one_in(4));
            let policy = &self.policies[place(choices)];
            let key = Key::new(&self.keys[place(choices)]).unwrap();
            let cost = cost(choices, &policy.limits()[0]);
            let mode = match choices.below(8) {
                0 => Mode::Peek,
                1 => Mode::Debit,
                _ => Mode::Take,
            };
            Check::take(key, policy, cost).with_mode(mode)
        });
        checks.collect()
    }

    /// One random operation on both; what each answered, in microseconds.
    async fn step(&mut self, choices: &mut Choices) -> (String, Vec<Decision>, Vec<Decision>) {
        let algorithm = *self.policies[0].limits()[0].algorithm();
        self.clock.set(step_time(choices, self.clock.now(), &algorithm));
        let checks = self.checks(choices);
        let asked: Vec<String> = checks.iter().map(describe).collect();
        let operation = choices.below(12);
        let what = format!("{} {operation}: {}", self.clock.now().as_micros(), asked.join(", "));
        let (memory, redis) = match operation {
            0 => {
                self.memory.refund(&checks, self.taken_at);
                self.redis.refund(&checks, self.taken_at).await.unwrap();
                (None, None)
            }
            1 if choices.one_in(4) => {
                self.memory.reset(&checks);
                self.redis.reset(&checks).await.unwrap();
                (None, None)
            }
            2 | 3 => {
                let memory = self.memory.take_each(&checks);
                (Some(memory), Some(self.redis.take_each(&checks).await.unwrap()))
            }
            _ => {
                let memory = self.memory.take(&checks);
                (Some(memory), Some(self.redis.take(&checks).await.unwrap()))
            }
        };
        let taken_at = redis.as_ref().map(Verdict::at).filter(|_| choices.one_in(3));
        let answers = (what, in_micros(memory.as_ref()), in_micros(redis.as_ref()));
        self.taken_at = taken_at.unwrap_or(self.taken_at);
        answers
    }
}

/// A check in a few words.
fn describe(check: &Check<'_>) -> String {
    let key = check.key.as_bytes().last().copied().map_or('?', char::from);
    let policy = check.policy.name();
    format!("{:?} {} for {key} under {policy}", check.mode, check.cost)
}

/// A policy's numbers, one limit a line.
fn numbers(policy: &Policy) -> String {
    let line = |limit: &Limit| format!("\n  {:?} {:?}", limit.algorithm(), limit.min_interval());
    let limits: String = policy.limits().iter().map(line).collect();
    format!("{}:{limits}", policy.name())
}

/// Decisions with waits rounded up to the microsecond.
fn in_micros(verdict: Option<&Verdict>) -> Vec<Decision> {
    let round = |span: Span| Span::from_micros(span.as_micros_ceil());
    let decisions = verdict.into_iter().flat_map(Verdict::decisions);
    decisions
        .map(|decision| Decision {
            retry_after: decision.retry_after.map(round),
            reset_after: round(decision.reset_after),
            ..*decision
        })
        .collect()
}

/// `TIDEGATE_SEED=7 cargo test agree` plays other requests than the usual ones.
fn seed(kind: Kind) -> u64 {
    let other = std::env::var("TIDEGATE_SEED").map(|seed| seed.parse().expect("a number"));
    kind as u64 + 8 * other.unwrap_or(0)
}

async fn stores_agree(kind: Kind) {
    let server = RedisServer::start(&[]);
    let clock = Arc::new(ManualClock::new(DAY));
    let redis = RedisStore::with_test_clock(config(&server), clock.clone());
    let mut outcomes = [0_usize; 3];
    for scene in 0..STEPS / STEPS_PER_SCENE {
        let mut choices = Choices(seed(kind) ^ (scene as u64) << 32);
        let mut stores = Scene::new(&mut choices, kind, &redis, &clock);
        let mut history = Vec::new();
        for _ in 0..STEPS_PER_SCENE {
            let (what, memory, redis) = stores.step(&mut choices).await;
            history.push(what);
            let policies: Vec<String> = stores.policies.iter().map(numbers).collect();
            assert!(
                memory == redis,
                "scene {scene} of {kind:?} under\n{}\nafter\n{}\nmemory {memory:#?}\nredis {redis:#?}",
                policies.join("\n"),
                history.join("\n")
            );
            redis.iter().for_each(|decision| outcomes[decision.outcome as usize] += 1);
        }
    }
    // P55: whatever was written, and however often, is to go by itself.
    let endless = "for _, key in ipairs(redis.call('KEYS', '*')) do \
                   if redis.call('PTTL', key) < 0 then return key end end return 'none'";
    assert_eq!(server.command(&["EVAL", endless, "0"]), "none");
    // A test that only ever saw one outcome would show little.
    assert!(outcomes.iter().all(|count| *count > STEPS / 50), "{outcomes:?}");
}

/// P53: one truth for the token bucket.
#[tokio::test]
async fn token_buckets_agree_with_memory() {
    stores_agree(Kind::Bucket).await;
}

/// P53: one truth for the fixed window, of either alignment.
#[tokio::test]
async fn fixed_windows_agree_with_memory() {
    stores_agree(Kind::Fixed).await;
}

/// P53: one truth for the rolling window.
#[tokio::test]
async fn rolling_windows_agree_with_memory() {
    stores_agree(Kind::Rolling).await;
}

/// P53: one truth for the sliding window.
#[tokio::test]
async fn sliding_windows_agree_with_memory() {
    stores_agree(Kind::Sliding).await;
}

/// P53, P13, P24: one truth for policies of several algorithms: what is charged, which limit governs.
#[tokio::test]
async fn mixed_policies_agree_with_memory() {
    stores_agree(Kind::Mixed).await;
}

/// A log far longer than what is read at once: charges, denials, refunds at old instants and steps
/// back, as in memory.
#[tokio::test]
async fn long_logs_agree_with_memory() {
    let server = RedisServer::start(&[]);
    let clock = Arc::new(ManualClock::new(DAY));
    let redis = RedisStore::with_test_clock(config(&server), clock.clone());
    let memory = MemoryStore::with_clock(MemoryConfig::default(), clock.clone());
    let window = Span::from_secs(1_000);
    let limit = Limit::rolling_window("l", Amount::from_units(2_500), window).unwrap();
    let policy = Policy::new("p", [limit]).unwrap();
    let mut choices = Choices(seed(Kind::Rolling));
    let mut taken = vec![DAY];
    for step in 0..STEPS {
        let now = clock.now();
        clock.set(match choices.below(2_000) {
            0 => now - Span::from_secs(choices.below(1_500)),
            1 => now + Span::from_secs(choices.below(1_500)),
            _ => now + Span::from_micros(choices.below(700_000)),
        });
        let cost = match choices.below(8) {
            0 => Amount::from_units(choices.below(2_502)),
            _ => Amount::from_micros(choices.below(2_000_000)),
        };
        let key = Key::new("k").unwrap();
        let check = match choices.below(8) {
            0 | 1 => Check::peek(key, &policy, cost),
            _ if cost > Amount::from_units(2) => Check::peek(key, &policy, cost),
            _ => Check::take(key, &policy, cost),
        };
        if choices.one_in(20) {
            let at = taken[usize::try_from(choices.next()).unwrap_or(0) % taken.len()];
            memory.refund(&[check], at);
            redis.refund(&[check], at).await.unwrap();
        }
        let verdict = redis.take(&[check]).await.unwrap();
        taken.push(verdict.at());
        let expected = in_micros(Some(&memory.take(&[check])));
        assert_eq!(expected, in_micros(Some(&verdict)), "at step {step}: {}", describe(&check));
    }
}
