-- Decides checks: all or nothing, or each on its own.
--
-- After the rules, ARGV has "all" or "each", and for each check its mode ("take", "peek" or
-- "debit"), its cost, how many rules it is under, and their places. The reply is the time and then,
-- for each check and each of its rules, four numbers: 0 allow, 1 deny or 2 exceeds; what remains; the
-- wait; the time until full. Costs and amounts are millionths, times microseconds.

-- Until when a rule makes a cost wait, on top of what earlier checks asked; nil for ever.
local function ask(rule, check, now)
  local state = rule.state
  local at = settle(rule, now)
  if check.cost == 0 then
    return 0
  end
  if state.stepped and check.mode ~= 'peek' then
    -- Written even when the check is denied, or the lock-out would last as long as the step was.
    state.dirty = true
  end
  if rule.step.is_spacing and state.asked > 0 then
    return nil
  end
  local wait = rule.step.wait(state, rule, at, check.cost + state.asked)
  -- A wait may be as long as numbers are exact, so nothing but the small lag is added to it.
  return wait and wait > 0 and wait + (at - now) or wait
end

-- Asks every rule of a check and says whether all allow.
local function ask_all(check, now)
  local allowed = true
  check.waits = {}
  for place, rule in ipairs(check.rules) do
    local wait = ask(rule, check, now)
    check.waits[place] = wait or false
    allowed = allowed and wait == 0
  end
  return allowed
end

-- Charges a check if its turn has come, and writes its answers as the states then are.
local function conclude(check, allowed, now, reply)
  local charged = check.cost > 0 and (check.mode == 'debit' or check.mode == 'take' and allowed)
  for place, rule in ipairs(check.rules) do
    local step, state, wait = rule.step, rule.state, check.waits[place]
    local at = settle(rule, now)
    if charged then
      step.charge(state, rule, at, check.cost)
      state.dirty = true
    end
    local reset = step.reset(state, rule, at)
    reply[#reply + 1] = not wait and 2 or wait > 0 and 1 or 0
    reply[#reply + 1] = step.remaining(state, rule, at)
    reply[#reply + 1] = wait or 0
    reply[#reply + 1] = reset > 0 and reset + (at - now) or 0
  end
end

local function read_checks(rules)
  local checks = {}
  while cursor < #ARGV do
    local check = { mode = next_text(), cost = next_number(), rules = {} }
    for place = 1, next_number() do
      check.rules[place] = rules[next_number()]
    end
    checks[#checks + 1] = check
  end
  return checks
end

local function take_all(checks, now, reply)
  local allowed = true
  for _, check in ipairs(checks) do
    local passes = ask_all(check, now)
    allowed = allowed and (passes or check.mode ~= 'take')
    if check.mode ~= 'peek' then
      for _, rule in ipairs(check.rules) do
        rule.state.asked = rule.state.asked + check.cost
      end
    end
  end
  for _, check in ipairs(checks) do
    conclude(check, allowed, now, reply)
  end
end

local function take_each(checks, now, reply)
  for _, check in ipairs(checks) do
    conclude(check, ask_all(check, now), now, reply)
  end
end

return answer(function()
  local now, grace = read_time(), next_number()
  local rules = read_rules()
  local take = next_text() == 'each' and take_each or take_all
  local reply = { now }
  take(read_checks(rules), now, reply)
  save_all(rules, now, grace)
  return reply
end)
