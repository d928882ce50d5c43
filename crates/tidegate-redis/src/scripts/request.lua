-- What a request brings: the time, and the rules that its keys are under.
--
-- KEYS are the states' keys, each once. ARGV is the time in microseconds, or nothing for the
-- server's own; how many milliseconds a state outlives its return to full; how many rules there are;
-- and for each its key's place, its algorithm and its three numbers. What follows is each script's
-- own.
local cursor = 0

local function next_text()
  cursor = cursor + 1
  return ARGV[cursor]
end

local function next_number()
  return tonumber(next_text())
end

local function read_time()
  local given = next_number()
  if given then
    return given
  end
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end

-- All rules with their states, which are all read before anything is written: an unreadable one ends
-- the script with nothing done.
local function read_rules()
  local rules, states = {}, {}
  for place = 1, next_number() do
    local at, step = next_number(), steps(next_text())
    if not states[at] then
      states[at] = { key = KEYS[at], asked = 0 }
      step.load(states[at])
    end
    rules[place] = {
      step = step,
      state = states[at],
      max = next_number(),
      window = next_number(),
      detail = next_number(),
    }
  end
  return rules
end

-- Brings a rule's state to now, once, and says at which instant it stands.
local function settle(rule, now)
  local state = rule.state
  if state.settled_by ~= rule then
    state.at = rule.step.settle(state, rule, now)
    state.settled_by = rule
  end
  return state.at
end

-- Writes the states that changed, each to live until it is full and `grace` milliseconds more.
local function save_all(rules, now, grace)
  for _, rule in ipairs(rules) do
    local state = rule.state
    if state.dirty then
      local at = settle(rule, now)
      local reset = rule.step.reset(state, rule, at) + (at - now)
      rule.step.save(state, text(ceil_div(reset, 1000) + grace))
      state.dirty = false
    end
  end
end

-- Runs a script's body and turns what it raises into an error reply.
local function answer(body)
  local done, reply = pcall(body)
  if done or type(reply) == 'table' then
    return reply
  end
  return redis.error_reply(tostring(reply))
end
