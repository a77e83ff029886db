-- Up Migration
-- What an exchange is priced by: when, the served models, tiers and samplings. A dispatcher of the version before
-- leaves them null.
ALTER TABLE usage ADD COLUMN served_model text, ADD COLUMN served jsonb;

-- Down Migration
ALTER TABLE usage DROP COLUMN served_model, DROP COLUMN served;
