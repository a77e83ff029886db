-- Up Migration
-- Whether the cost of an exchange is a lower bound: its answer was cut, or the provider bills something by number for
-- which the book had no price. A dispatcher of the version before leaves it null.
ALTER TABLE usage ADD COLUMN cost_is_lower_bound boolean;

-- Down Migration
ALTER TABLE usage DROP COLUMN cost_is_lower_bound;
