-- The sliding window: two counters that estimate the last window.
--
-- The state is "start previous current". With e elapsed of the window, used is
-- floor(previous * (window - e) / window) in whole units, plus current.
makers.sliding_window = function()
  local step = {}

  local function whole_units(amount)
    return floor_to(amount, MICROS_PER_UNIT)
  end

  -- The part of the previous window that still counts, in whole units.
  local function weighed(state, rule, at)
    return whole_units((mul_div(state.previous, rule.window - (at - state.start), rule.window)))
  end

  -- The time after a window's start at which `count` of the window before it weighs less than
  -- `bound`, for a bound of whole units no larger than the count:
  -- count * x / window < bound for the covered time x  <=>  x <= ceil(bound * window / count) - 1.
  local function fades_below(rule, count, bound)
    return rule.window - (mul_div_ceil(rule.window, bound, count) - 1)
  end

  -- The instant from which `count` in the window begun at `start` leaves `room` or more of itself
  -- free in the window after it.
  local function fits_next_window(rule, start, count, room)
    local bound = whole_units(room) + MICROS_PER_UNIT
    local fades = count < bound and 0 or fades_below(rule, count, bound)
    return start + rule.window + fades
  end

  function step.load(state)
    local start, previous, current = read_numbers(state.key, '^(%d+) (%d+) (%d+)$')
    state.found = start ~= nil
    state.start, state.previous, state.current = start or 0, previous or 0, current or 0
  end

  -- A state that counts for nothing equals none, whose window is the one that the clock is in.
  function step.settle(state, rule, now)
    local at, stepped = reading(now, state.start, rule.window)
    if stepped then
      state.start = now
    elseif at >= state.start + 2 * rule.window then
      state.previous, state.current = 0, 0
    elseif at >= state.start + rule.window then
      state.start = state.start + rule.window
      state.previous, state.current = state.current, 0
    end
    if state.current > 0 or state.previous > 0 and weighed(state, rule, at) > 0 then
      state.stepped = stepped
      return at
    end
    state.start, state.previous, state.current = floor_to(now, rule.window), 0, 0
    return now
  end

  function step.wait(state, rule, at, cost)
    if cost > rule.max then
      return nil
    end
    local room = rule.max - cost
    if weighed(state, rule, at) + state.current <= room then
      return 0
    end
    if room >= state.current then
      local bound = whole_units(room - state.current) + MICROS_PER_UNIT
      local fades = fades_below(rule, state.previous, bound)
      if fades < rule.window then
        return state.start + fades - at
      end
    end
    return fits_next_window(rule, state.start, state.current, room) - at
  end

  function step.charge(state, rule, at, cost)
    local room = 2 * rule.max - weighed(state, rule, at) - state.current
    state.current = state.current + math.max(0, math.min(cost, room))
  end

  function step.refund(state, rule, cost, taken)
    if taken >= state.start then
      state.current = math.max(0, state.current - cost)
    elseif taken >= state.start - rule.window then
      state.previous = math.max(0, state.previous - cost)
    else
      return false
    end
    return true
  end

  function step.remaining(state, rule, at)
    return math.max(0, rule.max - weighed(state, rule, at) - state.current)
  end

  function step.reset(state, rule, at)
    if state.current > 0 then
      return fits_next_window(rule, state.start, state.current, 0) - at
    end
    if weighed(state, rule, at) == 0 then
      return 0
    end
    return state.start + fades_below(rule, state.previous, MICROS_PER_UNIT) - at
  end

  function step.save(state, ttl)
    if state.previous == 0 and state.current == 0 then
      redis.call('DEL', state.key)
      return
    end
    local value = text(state.start) .. ' ' .. text(state.previous) .. ' ' .. text(state.current)
    redis.call('SET', state.key, value, 'PX', ttl)
  end

  return step
end
