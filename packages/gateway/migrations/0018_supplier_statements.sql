-- What suppliers say besides, and what could not be read in their lists.

alter table supplier_products
  add column included text; -- calls and SMS besides the data, such as "100 minutes of calls and 20 SMS"; null: none are known

alter table profiles
  add column installation_time timestamptz; -- when it was installed, if its supplier says so
