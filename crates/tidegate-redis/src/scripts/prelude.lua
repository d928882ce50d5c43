-- What every script shares: exact arithmetic on doubles, reading of state, and the clock rule.
--
-- Lua 5.1 has no integers: numbers are doubles, exact below 2^53. A limit loads only if its products
-- stay below that, and what follows never makes a larger number that matters. `/` is used only
-- where the quotient is whole, and never `%`, which divides and floors: math.fmod is exact.

-- How far a clock may lag behind a state and still be a late reading of the same time.
local LATE_AT_MOST = 1000000

-- Where doubles stop counting by one.
local DOMAIN = 9007199254740992

local MICROS_PER_UNIT = 1000000

local function floor_to(a, b)
  return a - math.fmod(a, b)
end

local function ceil_div(a, b)
  local rest = math.fmod(a, b)
  local whole = (a - rest) / b
  return rest > 0 and whole + 1 or whole
end

-- What mul_div does, for a c that leaves no room for a digit: a bit at a time, with comparisons that
-- never form a number above c.
local function mul_div_by_bits(a, b, c)
  local bit = 1
  while bit * 2 <= a do
    bit = bit * 2
  end
  local whole, rest = 0, 0
  while bit >= 1 do
    whole = whole * 2
    if rest >= c - rest then
      whole, rest = whole + 1, rest - (c - rest)
    else
      rest = rest * 2
    end
    if a >= bit then
      a = a - bit
      if rest >= c - b then
        whole, rest = whole + 1, rest - (c - b)
      else
        rest = rest + b
      end
    end
    bit = bit / 2
  end
  return whole, rest > 0
end

-- floor(a * b / c) and whether something was cut off, for b <= c. The product may have 106 bits, so
-- it is never formed: the digits of a come in from the top, as in long division. The radix is as
-- large as the remainder and the product of a digit leave exact.
local function mul_div(a, b, c)
  if b == c then
    return a, false
  end
  local _, bits = math.frexp(c)
  local radix = math.ldexp(1, 52 - bits)
  if radix < 2 then
    return mul_div_by_bits(a, b, c)
  end
  local place = 1
  while place * radix <= a do
    place = place * radix
  end
  local whole, rest = 0, 0
  while place >= 1 do
    local below = math.fmod(a, place)
    local sum = rest * radix + (a - below) / place * b
    rest = math.fmod(sum, c)
    whole = whole * radix + (sum - rest) / c
    a, place = below, place / radix
  end
  return whole, rest > 0
end

local function mul_div_ceil(a, b, c)
  local whole, cut = mul_div(a, b, c)
  return cut and whole + 1 or whole
end

-- Whole digits: Lua's own conversion would write 1.7e+15.
local function text(n)
  return string.format('%.0f', n)
end

-- Ends the script with an error of our own kind. The caller's key may be a secret of its owner, so
-- the error names the key without it.
local function refuse(key)
  local name = string.gsub(key, '{.*}', '{...}')
  error({ err = 'FOREIGN ' .. name .. ' holds data that is not ours; it was left as it is' })
end

-- Digits as a number that counts exactly, or the end of the script.
local function number(key, digits)
  local n = tonumber(digits)
  if n > DOMAIN then
    refuse(key)
  end
  return n
end

-- The reply of a read; data of another type is not ours.
local function read(key, ...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' and reply.err then
    if string.find(reply.err, 'WRONGTYPE', 1, true) then
      refuse(key)
    end
    error(reply)
  end
  return reply
end

-- The numbers of a text like "1764583200000000 5 1" that matches a pattern, or nothing when there is
-- none.
local function read_numbers(key, pattern)
  local value = read(key, 'GET', key)
  if not value then
    return nil
  end
  local a, b, c = string.match(value, pattern)
  if not a then
    refuse(key)
  end
  return number(key, a), b and number(key, b), c and number(key, c)
end

-- The instant at which a state last written at `stored` stands, and whether it is to be stamped anew:
-- a clock that lags a little was read late, and one that lags more stepped back. `full` is how long
-- the limit takes to fill; no lock-out may outlast it for long.
local function reading(now, stored, full)
  local lag = stored - now
  if lag <= 0 then
    return now, false
  end
  if lag <= LATE_AT_MOST and lag <= full then
    return stored, false
  end
  return now, true
end

-- The steps of each algorithm, made when first asked for: a script has all of them in its text and
-- most calls need one.
--
-- A rule is { step, max, window, detail } and a state whatever its step keeps in a table with
-- `key`, `found` (there is state in the store), `dirty` (it is to be written) and `stepped` (it was
-- stamped anew because the clock went back). Of a step:
--   load(state)                       reads the state, full when there is none
--   settle(state, rule, now) -> at    brings it to now, or to a little later for a late reading
--   wait(state, rule, at, cost)       until the cost passes; nil when it never does
--   charge(state, rule, at, cost)     takes it, down to one full limit below zero
--   refund(state, rule, cost, taken)  gives it back, and says whether there is anything to write
--   remaining(state, rule, at), reset(state, rule, at)
--   save(state, ttl)                  writes it, to live for ttl milliseconds
local makers = {}
local made = {}

local function steps(algorithm)
  made[algorithm] = made[algorithm] or makers[algorithm]()
  return made[algorithm]
end
