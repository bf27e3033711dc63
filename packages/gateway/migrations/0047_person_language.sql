-- What people chose in their menu, e.g. 'zh-Hans' (a BCP 47 tag) and 'Asia/Shanghai'; null: the browser's, as before.
alter table people
  add column language text,
  add column time_zone text;
