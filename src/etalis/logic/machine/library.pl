% Predicates defined by clauses, in sections. Lines `%! name/arity ...` say what a section defines; it is read when one
% of its predicates is first called. A name that begins with `$` is hidden from programs.

%! append/3
append([], Ys, Ys).
append([X|Xs], Ys, [X|Zs]) :- append(Xs, Ys, Zs).

%! member/2
member(X, [Y|Ys]) :- '$member'(Ys, X, Y).
'$member'(_, X, X).
'$member'([Y|Ys], X, _) :- '$member'(Ys, X, Y).

%! select/3 selectchk/3 permutation/2
select(X, [Y|Ys], Zs) :- '$select'(Ys, Y, X, Zs).
'$select'(Ys, X, X, Ys).
'$select'([Z|Ys], Y, X, [Y|Zs]) :- '$select'(Ys, Z, X, Zs).
selectchk(X, Ys, Zs) :- select(X, Ys, Zs), !.
permutation(Xs, Ys) :-
    (is_list(Xs) -> length(Xs, N), length(Ys, N) ; length(Ys, N), length(Xs, N)),
    '$permutation'(Xs, Ys).
'$permutation'([], []).
'$permutation'(Xs, [Y|Ys]) :- select(Y, Xs, Zs), '$permutation'(Zs, Ys).

%! nextto/3 same_length/2 subseq/3 proper_length/2
nextto(X, Y, [X, Y|_]).
nextto(X, Y, [_|Zs]) :- nextto(X, Y, Zs).
same_length([], []).
same_length([_|Xs], [_|Ys]) :- same_length(Xs, Ys).
subseq([], [], []).
subseq([X|Xs], [X|Ys], Zs) :- subseq(Xs, Ys, Zs).
subseq([X|Xs], Ys, [X|Zs]) :- subseq(Xs, Ys, Zs).
proper_length(Xs, N) :- is_list(Xs), length(Xs, M), N = M.

%! nth/3 nth0/4 nth1/4
nth(I, Xs, X) :- nth1(I, Xs, X).
nth0(I, Xs, X, Ys) :- '$nth'(Xs, 0, I, X, Ys).
nth1(I, Xs, X, Ys) :- '$nth'(Xs, 1, I, X, Ys).
'$nth'(Xs, N, I, X, Ys) :- is_list(Xs), !, '$place'(I), '$take'(Xs, N, I, X, Ys).
'$nth'(Xs, N, I, X, Ys) :- must_be(list, Ys), '$place'(I), '$insert'(Ys, N, I, X, Xs).
'$place'(I) :- var(I), !.
'$place'(I) :- must_be(integer, I), (I < 0 -> '$domain_error'(not_less_than_zero, I) ; true).
'$take'([X|Xs], N, I, Y, Ys) :- '$take'(Xs, X, N, I, Y, Ys).
'$take'(Xs, X, I, I, X, Xs).
'$take'([Z|Xs], X, N, I, Y, [X|Ys]) :- M is N + 1, '$take'(Xs, Z, M, I, Y, Ys).
'$insert'(Ys, I, I, X, [X|Ys]).
'$insert'([Y|Ys], N, I, X, [Y|Xs]) :- M is N + 1, '$insert'(Ys, M, I, X, Xs).

%! subtract/3 delete/3
subtract([], _, []).
subtract([X|Xs], Ys, Zs) :-
    (memberchk(X, Ys) -> subtract(Xs, Ys, Zs) ; Zs = [X|Rest], subtract(Xs, Ys, Rest)).
delete([], _, []).
delete([X|Xs], Y, Zs) :- (X \= Y -> Zs = [X|Rest], delete(Xs, Y, Rest) ; delete(Xs, Y, Zs)).

%! flatten/2
flatten(X, Ys) :- '$flatten'(X, [], Zs), Ys = Zs.
'$flatten'(X, Ys, [X|Ys]) :- var(X), !.
'$flatten'([], Ys, Ys) :- !.
'$flatten'([X|Xs], Ys, Zs) :- !, '$flatten'(X, Rest, Zs), '$flatten'(Xs, Ys, Rest).
'$flatten'(X, Ys, [X|Ys]).

%! max_member/2 min_member/2
max_member(X, Xs) :- msort(Xs, Ys), last(Ys, X).
min_member(X, Xs) :- msort(Xs, [Y|_]), X = Y.

%! contains/2 subset/2 is_set/1
contains(Xs, X) :- (compound(Xs) ; Xs == []), !, must_be(list, Xs), memberchk(X, Xs).
contains(Text, Part) :- atom_concat('', Text, A), atom_concat('', Part, B), sub_atom(A, _, _, _, B), !.
subset(Xs, Ys) :- must_be(list, Ys), must_be(list, Xs), '$subset'(Xs, Ys).
'$subset'([], _).
'$subset'([X|Xs], Ys) :- memberchk(X, Ys), '$subset'(Xs, Ys).
is_set(Xs) :- is_list(Xs), sort(Xs, Ys), length(Xs, N), length(Ys, N).

%! pairs_keys_values/3 pairs_keys/2 pairs_values/2 transpose_pairs/2 clumped/2
pairs_keys_values(Ps, Ks, Vs) :- is_list(Ps), !, '$unzip'(Ps, Xs, Ys), Ks = Xs, Vs = Ys.
pairs_keys_values(Ps, Ks, Vs) :- must_be(list, Ks), must_be(list, Vs), '$zip'(Ks, Vs, Qs), Ps = Qs.
pairs_keys(Ps, Ks) :- must_be(list, Ps), '$unzip'(Ps, Xs, _), Ks = Xs.
pairs_values(Ps, Vs) :- must_be(list, Ps), '$unzip'(Ps, _, Ys), Vs = Ys.
'$unzip'([], [], []).
'$unzip'([P|Ps], [K|Ks], [V|Vs]) :- (P = K-V -> true ; '$type_error'(pair, P)), '$unzip'(Ps, Ks, Vs).
'$zip'([], [], []).
'$zip'([K|Ks], [V|Vs], [K-V|Ps]) :- '$zip'(Ks, Vs, Ps).
transpose_pairs(Ps, Qs) :- must_be(list(pair), Ps), '$unzip'(Ps, Ks, Vs), '$zip'(Vs, Ks, Rs), keysort(Rs, Qs).
clumped(Xs, Ps) :- must_be(list, Xs), '$clumps'(Xs, Qs), Ps = Qs.
'$clumps'([], []).
'$clumps'([X|Xs], [X-N|Ps]) :- '$clump'(Xs, X, 1, N, Ys), '$clumps'(Ys, Ps).
'$clump'([Y|Ys], X, M, N, Zs) :- X == Y, !, L is M + 1, '$clump'(Ys, X, L, N, Zs).
'$clump'(Ys, _, N, N, Ys).

%! list_to_ord_set/2 ord_union/2 ord_union/3 ord_subtract/3 ord_intersection/3 ord_symdiff/3
%! ord_add_element/3 ord_insert/3 ord_del_element/3 ord_memberchk/2 ord_subset/2 ord_disjoint/2 ord_intersect/2
list_to_ord_set(Xs, Ys) :- sort(Xs, Ys).
ord_union(Sets, Set) :- must_be(list(list), Sets), append(Sets, Xs), sort(Xs, Set).
ord_union(Xs, Ys, Zs) :- '$ord'(Xs, Ys, keep(yes, yes, yes), Zs).
ord_subtract(Xs, Ys, Zs) :- '$ord'(Xs, Ys, keep(yes, no, no), Zs).
ord_intersection(Xs, Ys, Zs) :- '$ord'(Xs, Ys, keep(no, yes, no), Zs).
ord_symdiff(Xs, Ys, Zs) :- '$ord'(Xs, Ys, keep(yes, no, yes), Zs).
ord_add_element(Xs, Y, Zs) :- ord_union(Xs, [Y], Zs).
ord_insert(Xs, Y, Zs) :- ord_union(Xs, [Y], Zs).
ord_del_element(Xs, Y, Zs) :- ord_subtract(Xs, [Y], Zs).
ord_memberchk(X, Ys) :- must_be(list, Ys), member(Y, Ys), X == Y, !.
ord_subset(Xs, Ys) :- ord_intersection(Xs, Ys, Zs), length(Xs, N), length(Zs, N).
ord_disjoint(Xs, Ys) :- ord_intersection(Xs, Ys, []).
ord_intersect(Xs, Ys) :- ord_intersection(Xs, Ys, [_|_]).
% What the first set has alone, what both have, and what the second has alone is kept or not.
'$ord'(Xs, Ys, Keep, Zs) :- must_be(list, Xs), must_be(list, Ys), '$merge_ord'(Xs, Ys, Keep, Found), Zs = Found.
'$merge_ord'([], Ys, keep(_, _, Keep), Zs) :- (Keep == yes -> Zs = Ys ; Zs = []).
'$merge_ord'([X|Xs], Ys, Keep, Zs) :- '$merge_ord'(Ys, X, Xs, Keep, Zs).
'$merge_ord'([], X, Xs, keep(Keep, _, _), Zs) :- (Keep == yes -> Zs = [X|Xs] ; Zs = []).
'$merge_ord'([Y|Ys], X, Xs, Keep, Zs) :- compare(Order, X, Y), '$merge_ord'(Order, X, Xs, Y, Ys, Keep, Zs).
'$merge_ord'(<, X, Xs, Y, Ys, P, Zs) :- arg(1, P, Keep), '$keep'(Keep, X, Zs, Rest), '$merge_ord'(Xs, [Y|Ys], P, Rest).
'$merge_ord'(=, X, Xs, _, Ys, P, Zs) :- arg(2, P, Keep), '$keep'(Keep, X, Zs, Rest), '$merge_ord'(Xs, Ys, P, Rest).
'$merge_ord'(>, X, Xs, Y, Ys, P, Zs) :- arg(3, P, Keep), '$keep'(Keep, Y, Zs, Rest), '$merge_ord'(Ys, X, Xs, P, Rest).
'$keep'(yes, X, [X|Xs], Xs).
'$keep'(no, _, Xs, Xs).

%! empty_assoc/1 list_to_assoc/2 put_assoc/4 get_assoc/3 gen_assoc/3 assoc_to_list/2 assoc_to_keys/2 assoc_to_values/2
% An AVL tree: `t`, or `t(Key, Value, Height, Left, Right)`.
empty_assoc(t).
list_to_assoc(Ps, Tree) :-
    must_be(list(pair), Ps), '$put_all'(Ps, t, Found), assoc_to_list(Found, Qs),
    (same_length(Ps, Qs) -> Tree = Found ; '$domain_error'(unique_key_pairs, Ps)).
'$put_all'([], Tree, Tree).
'$put_all'([K-V|Ps], Tree, Result) :- '$put'(Tree, K, V, Next), '$put_all'(Ps, Next, Result).
put_assoc(K, Tree, V, Result) :- '$put'(Tree, K, V, Found), Result = Found.
'$put'(Tree, K, V, Result) :- '$tree'(Tree), '$put_into'(Tree, K, V, Result).
'$put_into'(t, K, V, t(K, V, 1, t, t)).
'$put_into'(t(Key, Value, H, L, R), K, V, Result) :-
    compare(Order, K, Key), '$put_into'(Order, Key, Value, H, L, R, K, V, Result).
'$put_into'(=, _, _, H, L, R, K, V, t(K, V, H, L, R)).
'$put_into'(<, Key, Value, _, L, R, K, V, Result) :- '$put'(L, K, V, Left), '$balance'(Key, Value, Left, R, Result).
'$put_into'(>, Key, Value, _, L, R, K, V, Result) :- '$put'(R, K, V, Right), '$balance'(Key, Value, L, Right, Result).
'$balance'(K, V, L, R, Result) :-
    '$height'(L, I), '$height'(R, J), By is I - J,
    ( By > 1 -> '$lean_left'(L, t(Key, Value, _, A, B)), '$join'(K, V, B, R, C), '$join'(Key, Value, A, C, Result)
    ; By < -1 -> '$lean_right'(R, t(Key, Value, _, A, B)), '$join'(K, V, L, A, C), '$join'(Key, Value, C, B, Result)
    ; H is max(I, J) + 1, Result = t(K, V, H, L, R)
    ).
'$lean_left'(t(K, V, H, L, R), Result) :-
    '$height'(L, I), '$height'(R, J),
    ( I < J -> R = t(Key, Value, _, A, B), '$join'(K, V, L, A, C), '$join'(Key, Value, C, B, Result)
    ; Result = t(K, V, H, L, R)
    ).
'$lean_right'(t(K, V, H, L, R), Result) :-
    '$height'(L, I), '$height'(R, J),
    ( I > J -> L = t(Key, Value, _, A, B), '$join'(K, V, B, R, C), '$join'(Key, Value, A, C, Result)
    ; Result = t(K, V, H, L, R)
    ).
'$join'(K, V, L, R, t(K, V, H, L, R)) :- '$height'(L, I), '$height'(R, J), H is max(I, J) + 1.
'$height'(Tree, H) :- '$tree'(Tree), (Tree == t -> H = 0 ; arg(3, Tree, H)).
'$tree'(Tree) :-
    ( Tree == t -> true
    ; var(Tree) -> must_be(atom, Tree)
    ; Tree = t(_, _, H, _, _), integer(H) -> true
    ; '$type_error'(assoc, Tree)
    ).
get_assoc(K, Tree, V) :- '$tree'(Tree), '$get'(Tree, K, V).
'$get'(t(Key, Value, _, L, R), K, V) :- compare(Order, K, Key), '$get'(Order, Value, L, R, K, V).
'$get'(=, V, _, _, _, V).
'$get'(<, _, L, _, K, V) :- get_assoc(K, L, V).
'$get'(>, _, _, R, K, V) :- get_assoc(K, R, V).
gen_assoc(K, Tree, V) :- assoc_to_list(Tree, Ps), member(K-V, Ps).
assoc_to_list(Tree, Ps) :- '$listed'(Tree, [], Qs), Ps = Qs.
assoc_to_keys(Tree, Ks) :- assoc_to_list(Tree, Ps), pairs_keys(Ps, Ks).
assoc_to_values(Tree, Vs) :- assoc_to_list(Tree, Ps), pairs_values(Ps, Vs).
'$listed'(Tree, Ps, Qs) :- '$tree'(Tree), '$listed_from'(Tree, Ps, Qs).
'$listed_from'(t, Ps, Ps).
'$listed_from'(t(K, V, _, L, R), Ps, Qs) :- '$listed'(L, [K-V|Rest], Qs), '$listed'(R, Ps, Rest).

%! maplist/2 maplist/3 maplist/4 maplist/5 maplist/6 maplist/7
maplist(G, As) :- '$maplist'(As, G).
maplist(G, As, Bs) :- '$maplist'(As, Bs, G).
maplist(G, As, Bs, Cs) :- '$maplist'(As, Bs, Cs, G).
maplist(G, As, Bs, Cs, Ds) :- '$maplist'(As, Bs, Cs, Ds, G).
maplist(G, As, Bs, Cs, Ds, Es) :- '$maplist'(As, Bs, Cs, Ds, Es, G).
maplist(G, As, Bs, Cs, Ds, Es, Fs) :- '$maplist'(As, Bs, Cs, Ds, Es, Fs, G).
'$maplist'([], _).
'$maplist'([A|As], G) :- call(G, A), '$maplist'(As, G).
'$maplist'([], [], _).
'$maplist'([A|As], [B|Bs], G) :- call(G, A, B), '$maplist'(As, Bs, G).
'$maplist'([], [], [], _).
'$maplist'([A|As], [B|Bs], [C|Cs], G) :- call(G, A, B, C), '$maplist'(As, Bs, Cs, G).
'$maplist'([], [], [], [], _).
'$maplist'([A|As], [B|Bs], [C|Cs], [D|Ds], G) :- call(G, A, B, C, D), '$maplist'(As, Bs, Cs, Ds, G).
'$maplist'([], [], [], [], [], _).
'$maplist'([A|As], [B|Bs], [C|Cs], [D|Ds], [E|Es], G) :- call(G, A, B, C, D, E), '$maplist'(As, Bs, Cs, Ds, Es, G).
'$maplist'([], [], [], [], [], [], _).
'$maplist'([A|As], [B|Bs], [C|Cs], [D|Ds], [E|Es], [F|Fs], G) :-
    call(G, A, B, C, D, E, F), '$maplist'(As, Bs, Cs, Ds, Es, Fs, G).

%! foldl/4 foldl/5 foldl/6 foldl/7
foldl(G, As, X, Y) :- '$foldl'(As, G, X, Y).
foldl(G, As, Bs, X, Y) :- '$foldl'(As, Bs, G, X, Y).
foldl(G, As, Bs, Cs, X, Y) :- '$foldl'(As, Bs, Cs, G, X, Y).
foldl(G, As, Bs, Cs, Ds, X, Y) :- '$foldl'(As, Bs, Cs, Ds, G, X, Y).
'$foldl'([], _, X, X).
'$foldl'([A|As], G, X, Y) :- call(G, A, X, Z), '$foldl'(As, G, Z, Y).
'$foldl'([], [], _, X, X).
'$foldl'([A|As], [B|Bs], G, X, Y) :- call(G, A, B, X, Z), '$foldl'(As, Bs, G, Z, Y).
'$foldl'([], [], [], _, X, X).
'$foldl'([A|As], [B|Bs], [C|Cs], G, X, Y) :- call(G, A, B, C, X, Z), '$foldl'(As, Bs, Cs, G, Z, Y).
'$foldl'([], [], [], [], _, X, X).
'$foldl'([A|As], [B|Bs], [C|Cs], [D|Ds], G, X, Y) :- call(G, A, B, C, D, X, Z), '$foldl'(As, Bs, Cs, Ds, G, Z, Y).

%! include/3 exclude/3 partition/4 partition/5 map_list_to_pairs/3
include(G, Xs, Yes) :- '$partition'(Xs, G, Yes, _).
exclude(G, Xs, No) :- '$partition'(Xs, G, _, No).
partition(G, Xs, Yes, No) :- '$partition'(Xs, G, Yes, No).
'$partition'([], _, [], []).
'$partition'([X|Xs], G, Yes, No) :-
    (call(G, X) -> Yes = [X|As], No = Bs ; Yes = As, No = [X|Bs]),
    '$partition'(Xs, G, As, Bs).
partition(G, Xs, Less, Equal, More) :- '$partition'(Xs, G, Less, Equal, More).
'$partition'([], _, [], [], []).
'$partition'([X|Xs], G, Less, Equal, More) :-
    call(G, X, Order), '$sorted_out'(Order, X, Less, Equal, More, As, Bs, Cs), '$partition'(Xs, G, As, Bs, Cs).
'$sorted_out'(<, X, [X|As], Bs, Cs, As, Bs, Cs).
'$sorted_out'(=, X, As, [X|Bs], Cs, As, Bs, Cs).
'$sorted_out'(>, X, As, Bs, [X|Cs], As, Bs, Cs).
map_list_to_pairs(G, Xs, Ps) :- '$keyed'(Xs, G, Ps).
'$keyed'([], _, []).
'$keyed'([X|Xs], G, [K-X|Ps]) :- call(G, X, K), '$keyed'(Xs, G, Ps).

%! predsort/3
% Lists of one element, merged two by two, round after round, until one is left.
predsort(G, Xs, Sorted) :- '$singles'(Xs, Lists), '$rounds'(Lists, G, Found), Sorted = Found.
'$singles'([], []).
'$singles'([X|Xs], [[X]|Lists]) :- '$singles'(Xs, Lists).
'$rounds'([], _, []).
'$rounds'([As|Lists], G, Sorted) :- '$round'(Lists, As, G, Sorted).
'$round'([], As, _, As).
'$round'([Bs|Lists], As, G, Sorted) :- '$pass'([As, Bs|Lists], G, Merged), '$rounds'(Merged, G, Sorted).
'$pass'([], _, []).
'$pass'([As|Lists], G, Merged) :- '$pass'(Lists, As, G, Merged).
'$pass'([], As, _, [As]).
'$pass'([Bs|Lists], As, G, [Cs|Merged]) :- '$merge'(As, Bs, G, Cs), '$pass'(Lists, G, Merged).
'$merge'([], Bs, _, Bs).
'$merge'([A|As], Bs, G, Cs) :- '$merge'(Bs, A, As, G, Cs).
'$merge'([], A, As, _, [A|As]).
'$merge'([B|Bs], A, As, G, Cs) :- call(G, Order, A, B), !, '$put_first'(Order, A, As, B, Bs, G, Cs).
'$put_first'(<, A, As, B, Bs, G, [A|Cs]) :- '$merge'(As, [B|Bs], G, Cs).
'$put_first'(=, A, As, _, Bs, G, Cs) :- '$merge'(Bs, A, As, G, Cs).
'$put_first'(>, A, As, B, Bs, G, [B|Cs]) :- '$merge'(Bs, A, As, G, Cs).

%! setup_call_cleanup/3 call_cleanup/2 assertion/1
setup_call_cleanup(Setup, Goal, Cleanup) :- once(Setup), call_cleanup(Goal, Cleanup).
call_cleanup(Goal, Cleanup) :-
    ( catch(Goal, Error, true) -> ignore(Cleanup), (nonvar(Error) -> throw(Error) ; true)
    ; ignore(Cleanup), fail
    ).
assertion(Goal) :- (\+ \+ Goal -> true ; throw(error(assertion_failed(Goal), goal))).

%! numbervars/1 divmod/4 rational/3
numbervars(Term) :- numbervars(Term, 0, _).
divmod(X, Y, Quotient, Rest) :- must_be(integer, X), must_be(integer, Y), Quotient is X div Y, Rest is X mod Y.
rational(X, N, D) :- rational(X), N is numerator(X), D is denominator(X).
