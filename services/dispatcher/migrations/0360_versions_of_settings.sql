-- Up Migration
-- Settings that several people change name the version that was seen. One sequence for all of them: what was removed and
-- made again never has a version that somebody saw before. By trigger, so that a dispatcher of the version before counts too.
CREATE SEQUENCE setting_versions AS integer;
CREATE FUNCTION next_setting_version() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  NEW.version := nextval('setting_versions');
  RETURN NEW;
END $$;
ALTER TABLE pool_settings ADD COLUMN version integer NOT NULL DEFAULT nextval('setting_versions');
ALTER TABLE cost_budgets ADD COLUMN version integer NOT NULL DEFAULT nextval('setting_versions');
ALTER TABLE cost_centres ADD COLUMN version integer NOT NULL DEFAULT nextval('setting_versions');
ALTER TABLE pool_prices ADD COLUMN version integer NOT NULL DEFAULT nextval('setting_versions');
ALTER TABLE account_links ADD COLUMN version integer NOT NULL DEFAULT nextval('setting_versions');
GRANT USAGE ON SEQUENCE setting_versions TO lemniscate_app;

CREATE TRIGGER pool_settings_version BEFORE UPDATE ON pool_settings
  FOR EACH ROW EXECUTE FUNCTION next_setting_version();
-- what sessions hold of a budget changes all the time and is nobody's setting
CREATE TRIGGER cost_budgets_version BEFORE UPDATE OF amount_usd ON cost_budgets
  FOR EACH ROW EXECUTE FUNCTION next_setting_version();
CREATE TRIGGER cost_centres_version BEFORE UPDATE ON cost_centres
  FOR EACH ROW EXECUTE FUNCTION next_setting_version();
CREATE TRIGGER pool_prices_version BEFORE UPDATE ON pool_prices
  FOR EACH ROW EXECUTE FUNCTION next_setting_version();
CREATE TRIGGER account_links_version BEFORE UPDATE ON account_links
  FOR EACH ROW EXECUTE FUNCTION next_setting_version();

-- Down Migration
DROP TRIGGER account_links_version ON account_links;
DROP TRIGGER pool_prices_version ON pool_prices;
DROP TRIGGER cost_centres_version ON cost_centres;
DROP TRIGGER cost_budgets_version ON cost_budgets;
DROP TRIGGER pool_settings_version ON pool_settings;
ALTER TABLE account_links DROP COLUMN version;
ALTER TABLE pool_prices DROP COLUMN version;
ALTER TABLE cost_centres DROP COLUMN version;
ALTER TABLE cost_budgets DROP COLUMN version;
ALTER TABLE pool_settings DROP COLUMN version;
DROP FUNCTION next_setting_version;
DROP SEQUENCE setting_versions;
