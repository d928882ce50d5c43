//! Who waits for which key, first come first.

use std::collections::{HashMap, VecDeque};
use std::task::Waker;

use smallvec::SmallVec;

use crate::amount::{Amount, Cost};
use crate::decision::{Decision, Verdict};
use crate::store::StoreError;
use crate::time::{Span, Timestamp};

/// The most that one question asks for together.
const GROUP_MAX: usize = 64;

/// Who of a line a question is for: a ticket, and what it asks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rider {
    pub(super) ticket: u64,
    pub(super) cost: Cost,
}

/// Those that one question is for.
pub(super) type Riders = SmallVec<[Rider; 4]>;

/// What was taken for one who waited.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grant {
    pub(super) decision: Decision,
    /// When, by the store's clock: what giving it back names.
    pub(super) at: Timestamp,
}

/// How waiting ended.
pub(super) type Landed = Result<Grant, StoreError>;

/// What one who waits is to do.
pub(super) enum Turn {
    /// Go: it is over.
    Over(Landed),
    /// Ask the store, for these.
    Ask(Riders),
    /// Let this much time pass first: the key is paused.
    Pause(Span),
    /// Wait to be woken.
    Wait,
}

/// The lines of all keys. One that is empty is forgotten.
#[derive(Debug, Default)]
pub(super) struct Lines {
    by_key: HashMap<Box<[u8]>, Line>,
    waiting: usize,
    /// How often something was given back: a wait told before the last time may be too long.
    given_back: u64,
}

/// Those who wait for one key.
#[derive(Debug, Default)]
struct Line {
    /// In the order of their tickets.
    members: VecDeque<Member>,
    /// The ends of those who have not looked yet.
    landed: Vec<(Rider, Landed)>,
    /// Whether a question is on its way: there is never more than one.
    asking: bool,
    /// What the store had left when it last granted, where asking takes time.
    room: Option<Amount>,
    /// Nobody asks before.
    paused_until: Option<Timestamp>,
}

#[derive(Debug)]
struct Member {
    rider: Rider,
    waker: Option<Waker>,
}

impl Line {
    fn is_first(&self, ticket: u64) -> bool {
        self.members.front().is_some_and(|first| first.rider.ticket == ticket)
    }

    fn place(&self, ticket: u64) -> Option<usize> {
        self.members.binary_search_by_key(&ticket, |member| member.rider.ticket).ok()
    }

    /// The first one's waker, when it is its turn to ask.
    fn call_first(&mut self) -> Option<Waker> {
        if self.asking { None } else { self.members.front_mut()?.waker.take() }
    }

    fn pause_left(&self, now: Timestamp) -> Option<Span> {
        self.paused_until.map(|until| until.since(now)).filter(|left| !left.is_zero())
    }

    /// Whether nothing would be lost if the line were forgotten.
    fn is_over(&self, now: Timestamp) -> bool {
        let empty = self.members.is_empty() && self.landed.is_empty() && !self.asking;
        empty && self.pause_left(now).is_none()
    }

    /// The first, and as many behind it as there is known to be room for.
    fn riders(&self) -> Riders {
        let room = self.room.unwrap_or_default().as_micros();
        let mut sum = 0_u64;
        let fits = |(place, rider): &(usize, Rider)| {
            sum = sum.saturating_add(rider.cost.as_micros());
            *place == 0 || sum <= room
        };
        let riders = self.members.iter().map(|member| member.rider);
        riders.take(GROUP_MAX).enumerate().take_while(fits).map(|(_, rider)| rider).collect()
    }
}

impl Lines {
    /// Whether nobody stands before a newcomer.
    pub(super) fn is_open(&self, key: &[u8], now: Timestamp) -> bool {
        self.by_key.get(key).is_none_or(|line| {
            line.members.is_empty() && !line.asking && line.pause_left(now).is_none()
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// Stands in line, unless `max` wait already.
    pub(super) fn enter(&mut self, key: &[u8], rider: Rider, max: usize) -> bool {
        if self.waiting >= max {
            return false;
        }
        self.waiting += 1;
        let line = match self.by_key.get_mut(key) {
            Some(line) => line,
            None => self.by_key.entry(key.into()).or_default(),
        };
        // Almost always the last; the store may have answered two newcomers out of order.
        let place = line.members.partition_point(|member| member.rider.ticket < rider.ticket);
        line.members.insert(place, Member { rider, waker: None });
        true
    }

    /// What those up to and with this one ask together, and how many they are.
    pub(super) fn up_to(&self, key: &[u8], ticket: u64) -> (Amount, usize) {
        let members = self.by_key.get(key).into_iter().flat_map(|line| &line.members);
        let riders = members.map(|member| member.rider).filter(|rider| rider.ticket <= ticket);
        riders.fold((Amount::ZERO, 0), |(sum, count), rider| {
            let sum = sum.as_micros().saturating_add(rider.cost.as_micros());
            (Amount::from_micros(sum), count + 1)
        })
    }

    /// What this one is to do now. Who is to ask has begun asking.
    pub(super) fn look(
        &mut self,
        key: &[u8],
        ticket: u64,
        now: Timestamp,
        grouped: bool,
        waker: &Waker,
    ) -> Turn {
        let Some(line) = self.by_key.get_mut(key) else { return Turn::Wait };
        if let Some(place) = line.landed.iter().position(|(rider, _)| rider.ticket == ticket) {
            return Turn::Over(line.landed.swap_remove(place).1);
        }
        if line.is_first(ticket) && !line.asking {
            if let Some(left) = line.pause_left(now) {
                return Turn::Pause(left);
            }
            line.asking = true;
            let mut riders = line.riders();
            if !grouped {
                riders.truncate(1);
            }
            return Turn::Ask(riders);
        }
        if let Some(place) = line.place(ticket) {
            line.members[place].waker = Some(waker.clone());
        }
        Turn::Wait
    }

    /// Whether this one, who asked when so much had been given back, need sleep no longer, since
    /// there may be something to be had already.
    pub(super) fn is_nudged(&mut self, key: &[u8], ticket: u64, seen: u64, waker: &Waker) -> bool {
        let Some(line) = self.by_key.get_mut(key) else { return true };
        let Some(place) = line.place(ticket) else { return true };
        line.members[place].waker = Some(waker.clone());
        place == 0 && self.given_back != seen
    }

    /// How often something was given back.
    pub(super) fn given_back(&self) -> u64 {
        self.given_back
    }

    /// Whether this one is the first of its line.
    pub(super) fn is_first(&self, key: &[u8], ticket: u64) -> bool {
        self.by_key.get(key).is_some_and(|line| line.is_first(ticket))
    }

    /// Leaves the line, whatever the reason. Gives what was granted and not fetched, and whom to
    /// wake.
    pub(super) fn leave(
        &mut self,
        key: &[u8],
        ticket: u64,
        now: Timestamp,
    ) -> (Option<Landed>, Option<Waker>) {
        let Some(line) = self.by_key.get_mut(key) else { return (None, None) };
        let landed = line.landed.iter().position(|(rider, _)| rider.ticket == ticket);
        let landed = landed.map(|place| line.landed.swap_remove(place).1);
        let was_first = line.is_first(ticket);
        if let Some(place) = line.place(ticket) {
            line.members.remove(place);
            self.waiting -= 1;
        }
        let wake = if was_first { line.call_first() } else { None };
        self.forget(key, now);
        (landed, wake)
    }

    /// A question is answered: gives it to those who still wait. Returns those who do not and for
    /// whom it was taken, and whom to wake.
    pub(super) fn land(
        &mut self,
        key: &[u8],
        riders: &[Rider],
        answer: &Result<Verdict, StoreError>,
        answered_at_once: bool,
        now: Timestamp,
    ) -> (Riders, SmallVec<[Waker; 4]>) {
        let Some(line) = self.by_key.get_mut(key) else { return (riders.into(), SmallVec::new()) };
        (line.asking, line.room) = (false, None);
        let mut gone = Riders::new();
        let mut wake = SmallVec::new();
        let mut end = |line: &mut Line, place: usize, landed: Landed| {
            let Some(member) = line.members.remove(place) else { return };
            self.waiting -= 1;
            line.landed.push((member.rider, landed));
            wake.extend(member.waker);
        };
        match answer {
            Ok(verdict) if verdict.is_allowed() => {
                for (rider, decision) in riders.iter().zip(verdict.decisions()) {
                    let grant = Grant { decision: *decision, at: verdict.at() };
                    match line.place(rider.ticket) {
                        Some(place) => end(line, place, Ok(grant)),
                        None => gone.push(*rider),
                    }
                    // Where the answer is at hand each may as well ask for itself.
                    line.room = Some(decision.remaining).filter(|_| !answered_at_once);
                }
            }
            Ok(_) => {}
            // Each would only learn the same, one deadline after the other.
            Err(error) => (0..line.members.len()).for_each(|_| end(line, 0, Err(error.clone()))),
        }
        wake.extend(line.call_first());
        self.forget(key, now);
        (gone, wake)
    }

    /// A question will have no answer.
    pub(super) fn unask(&mut self, key: &[u8], now: Timestamp) -> Option<Waker> {
        let line = self.by_key.get_mut(key)?;
        line.asking = false;
        let waker = line.call_first();
        self.forget(key, now);
        waker
    }

    /// Something was given back: the first need not sleep on.
    pub(super) fn nudge(&mut self, key: &[u8]) -> Option<Waker> {
        self.given_back += 1;
        self.by_key.get_mut(key)?.call_first()
    }

    /// Nobody asks for this key before `until`. Of two pauses the later end counts. Where `max`
    /// keys are held already it is ignored.
    pub(super) fn pause(&mut self, key: &[u8], until: Timestamp, now: Timestamp, max: usize) {
        if self.by_key.len() >= max && !self.by_key.contains_key(key) {
            self.by_key.retain(|_, line| !line.is_over(now));
            if self.by_key.len() >= max {
                return;
            }
        }
        let line = self.by_key.entry(key.into()).or_default();
        line.paused_until = line.paused_until.max(Some(until));
    }

    fn forget(&mut self, key: &[u8], now: Timestamp) {
        if self.by_key.get(key).is_some_and(|line| line.is_over(now)) {
            self.by_key.remove(key);
        }
    }

    /// How many wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }
}
